{# dbt's own: a view of the other relation, because a Paimon table cannot be cloned without its files. #}
{% macro paimon__can_clone_table() %}
  {{ return(False) }}
{% endmacro %}


{% materialization clone, adapter='paimon' %}
  {{ return(materialization_clone_default()) }}
{% endmaterialization %}
