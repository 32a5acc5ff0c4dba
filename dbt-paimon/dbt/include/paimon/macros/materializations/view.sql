{% materialization view, adapter='paimon' %}
  {%- do adapter.table_configs(model.config, model) -%}
  {%- set existing = load_cached_relation(this) -%}
  {%- set target_relation = this.incorporate(type='view') -%}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% if existing is not none and existing.is_table %}
    {% do paimon_table_becomes_view(existing, target_relation) %}
  {% endif %}
  {% call statement('main') %}
    {{ get_create_view_as_sql(target_relation, sql) }}
  {% endcall %}
  {% do persist_docs(target_relation, model) %}
  {% do apply_grants(target_relation, config.get('grants'), should_revoke=True) %}

  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}


{# The view is first created under another name, so that the table is dropped only if the catalog accepts the view. #}
{% macro paimon_table_becomes_view(existing, relation) %}
  {% set trial = relation.incorporate(path={'identifier': adapter.temporary_identifier(relation.identifier)}) %}
  {% call statement('trial_view') %}
    {{ get_create_view_as_sql(trial, sql) }}
  {% endcall %}
  {% call statement('drop_trial_view') %}
    drop view if exists {{ trial }}
  {% endcall %}
  {% do adapter.drop_relation(existing) %}
{% endmacro %}
