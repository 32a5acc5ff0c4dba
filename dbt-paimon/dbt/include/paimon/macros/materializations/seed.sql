{# A seed is replaced in one commit, like a table, even if its columns change. #}
{% materialization seed, adapter='paimon' %}
  {%- set table = adapter.table_configs(model.config, model) -%}
  {%- set existing = load_cached_relation(this) -%}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- if existing is not none and existing.is_view -%}
    {% do exceptions.raise_compiler_error("Cannot seed to '" ~ existing ~ "', it is a view") %}
  {%- endif -%}
  {%- set agate_table = load_agate_table() -%}
  {%- do store_result('agate_table', response='OK', agate_table=agate_table) -%}
  {%- set rows = agate_table.rows | length -%}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% set parts = [] %}
  {% for select in adapter.seed_selects(agate_table, config.get('column_types') or {}) %}
    {% set part = make_temp_relation(target_relation) %}
    {% do adapter.add_query('create temporary view ' ~ part ~ ' as ' ~ select, abridge_sql_log=True) %}
    {% do parts.append(part) %}
  {% endfor %}
  {% set create_sql %}
    create or replace table {{ target_relation }}
    using paimon
    {{ paimon_table_clauses(table) }}
    as
    {% for part in parts %}select * from {{ part }}{{ ' union all ' if not loop.last }}{% endfor %}
  {% endset %}
  {% call statement('create_seed') %}{{ create_sql }}{% endcall %}
  {% for part in parts %}{% do paimon_drop_temporary_view(part) %}{% endfor %}
  {% call noop_statement('main', 'INSERT ' ~ rows, 'INSERT', rows) %}{{ create_sql }}{% endcall %}
  {% do persist_docs(target_relation, model) %}
  {% do apply_grants(target_relation, config.get('grants'), should_revoke=True) %}

  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
