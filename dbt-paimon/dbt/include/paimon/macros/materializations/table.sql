{# A table is replaced in one commit: until then, or if the run is killed, it has its old rows. Snapshots and tags stay. #}
{% materialization table, adapter='paimon', supported_languages=['sql'] %}
  {%- do adapter.table_configs(model.config, model) -%}
  {%- set existing = load_cached_relation(this) -%}
  {%- set target_relation = this.incorporate(type='table') -%}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% do paimon_replace_table(target_relation, existing, compiled_code) %}
  {% do persist_docs(target_relation, model) %}
  {% do apply_grants(target_relation, config.get('grants'), should_revoke=True) %}

  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}


{% macro paimon_replace_table(relation, existing, compiled_code) %}
  {% if existing is not none and existing.is_view %}
    {% do adapter.drop_relation(existing) %}  {# it has no rows to lose #}
  {% endif %}
  {% call statement('main') %}
    {{ create_table_as(False, relation, compiled_code) }}
  {% endcall %}
{% endmacro %}
