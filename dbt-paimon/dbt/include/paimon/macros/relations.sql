{# Lists of a catalog's relations, and macros that rename and drop them. #}

{% macro paimon__list_schemas(database) -%}
  {% call statement('list_schemas', fetch_result=True, auto_begin=False) %}
    show databases in {{ database }}
  {% endcall %}
  {{ return(load_result('list_schemas').table) }}
{% endmacro %}


{% macro paimon_show_tables(relation) %}
  {% call statement('show_tables', fetch_result=True, auto_begin=False) -%}
    show tables in {{ relation.without_identifier() }}
  {% endcall %}
  {{ return(load_result('show_tables').table) }}
{% endmacro %}


{% macro paimon_show_views(relation) %}
  {% call statement('show_views', fetch_result=True, auto_begin=False) -%}
    show views in {{ relation.without_identifier() }}
  {% endcall %}
  {{ return(load_result('show_views').table) }}
{% endmacro %}


{% macro paimon_describe(relation, extended=False) %}
  {% call statement('describe', fetch_result=True, auto_begin=False) -%}
    describe table {{ 'extended' if extended }} {{ relation }}
  {% endcall %}
  {{ return(load_result('describe').table) }}
{% endmacro %}


{# Rows, bytes and files of every table of a catalog, from metadata #}
{% macro paimon_figures(database) %}
  {% call statement('figures', fetch_result=True, auto_begin=False) -%}
    select database_name, table_name, record_count, file_size_in_bytes, file_count from {{ adapter.quote(database) }}.sys.tables
  {% endcall %}
  {{ return(load_result('figures').table) }}
{% endmacro %}


{% macro paimon_properties(relation) %}
  {% call statement('properties', fetch_result=True) -%}
    show tblproperties {{ relation }}
  {% endcall %}
  {{ return(load_result('properties').table) }}
{% endmacro %}


{% macro paimon__get_columns_in_relation(relation) -%}
  {{ return(adapter.get_columns_in_relation(relation)) }}
{% endmacro %}


{% macro paimon__generate_database_name(custom_database_name=none, node=none) -%}
  {% do return(custom_database_name | trim if custom_database_name else target.database) %}
{%- endmacro %}


{% macro paimon__create_schema(relation) -%}
  {%- call statement('create_schema') -%}
    create schema if not exists {{ relation.without_identifier() }}
  {% endcall %}
{% endmacro %}


{% macro paimon__drop_schema(relation) -%}
  {%- call statement('drop_schema') -%}
    drop schema if exists {{ relation.without_identifier() }} cascade
  {%- endcall -%}
{% endmacro %}


{% macro paimon__rename_relation(from_relation, to_relation) -%}
  {% if from_relation.type not in ('table', 'view') %}
    {% do exceptions.raise_database_error('Cannot rename ' ~ from_relation ~ ', which is neither a table nor a view: ' ~ from_relation.type) %}
  {% endif %}
  {% call statement('rename_relation') -%}
    alter {{ from_relation.type }} {{ from_relation }} rename to {{ to_relation }}
  {%- endcall %}
{% endmacro %}


{% macro paimon__truncate_relation(relation) -%}
  {% call statement('truncate_relation') -%}
    truncate table {{ relation }}
  {%- endcall %}
{% endmacro %}
