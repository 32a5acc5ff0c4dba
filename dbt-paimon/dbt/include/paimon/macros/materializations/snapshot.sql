{# dbt's own materialization: dbt-spark's is for other formats. #}
{% materialization snapshot, adapter='paimon' %}
  {%- do adapter.table_configs(model.config, model) -%}
  {{ return(materialization_snapshot_default()) }}
{% endmaterialization %}


{% macro paimon__snapshot_merge_sql(target, source, insert_cols) -%}
  {{ default__snapshot_merge_sql(target, source, insert_cols) }}
{%- endmacro %}


{% macro paimon__post_snapshot(staging_relation) %}
  {% do paimon_drop_temporary_view(staging_relation) %}
{% endmacro %}
