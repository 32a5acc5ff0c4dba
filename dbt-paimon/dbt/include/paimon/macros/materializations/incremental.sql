{% materialization incremental, adapter='paimon', supported_languages=['sql'] %}
  {%- do adapter.table_configs(model.config, model) -%}
  {%- set strategy = adapter.incremental_strategy(model.config, model) -%}
  {%- set strategy_sql = adapter.get_incremental_strategy_macro(context, strategy) -%}
  {%- set on_schema_change = incremental_validate_on_schema_change(config.get('on_schema_change'), default='ignore') -%}
  {%- set existing = load_cached_relation(this) -%}
  {%- set target_relation = this.incorporate(type='table') -%}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% if existing is none or existing.is_view or should_full_refresh() %}
    {% do paimon_replace_table(target_relation, existing, compiled_code) %}
  {% else %}
    {% do paimon_check_primary_key(target_relation, strategy) %}
    {% set new_rows = make_temp_relation(target_relation) %}
    {% call statement('create_new_rows') %}
      {{ create_temporary_view(new_rows, compiled_code) }}
    {% endcall %}
    {% set changed_columns = process_schema_changes(on_schema_change, new_rows, existing) %}
    {% set columns = changed_columns or adapter.get_columns_in_relation(existing) %}
    {% if strategy in ('insert_overwrite', 'microbatch') %}
      {# only partitions with new rows are replaced, not the table #}
      {% call statement('partition_overwrite_mode') %}
        set spark.sql.sources.partitionOverwriteMode = dynamic
      {% endcall %}
    {% endif %}
    {% call statement('main') %}
      {{ strategy_sql({
        'target_relation': target_relation,
        'temp_relation': new_rows,
        'unique_key': config.get('unique_key') or adapter.table_configs(model.config, model).primary_key | list,
        'dest_columns': columns,
        'incremental_predicates': config.get('predicates') or config.get('incremental_predicates'),
      }) }}
    {% endcall %}
    {% do paimon_drop_temporary_view(new_rows) %}
  {% endif %}
  {% do persist_docs(target_relation, model) %}
  {% do apply_grants(target_relation, config.get('grants'), should_revoke=True) %}

  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}


{# The table keeps the key that it was created with: without it `upsert` would add rows instead of replacing them. #}
{% macro paimon_check_primary_key(relation, strategy) %}
  {% set wanted = adapter.table_configs(model.config, model).primary_key | join(',') %}
  {% set has = namespace(key='') %}
  {% for row in paimon_properties(relation) if row[0] == 'primary-key' %}
    {% set has.key = row[1] %}
  {% endfor %}
  {% if wanted and wanted != has.key %}
    {% do exceptions.raise_compiler_error(
      'The table ' ~ relation ~ ' has ' ~ ('the primary key (' ~ has.key ~ ')' if has.key else 'no primary key')
      ~ ', and the model says (' ~ wanted ~ '). Run it with --full-refresh, which makes the table anew.') %}
  {% endif %}
{% endmacro %}
