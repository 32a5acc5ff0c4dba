{# The statements of incremental strategies. `arguments` are dbt's: target_relation, temp_relation, dest_columns, … #}

{% macro paimon_column_list(columns, prefix='') -%}
  {%- for column in columns %}{{ prefix }}{{ adapter.quote(column.name) }}{{ ', ' if not loop.last }}{% endfor -%}
{%- endmacro %}


{% macro paimon__get_incremental_append_sql(arguments) -%}
  insert into {{ arguments['target_relation'] }} ({{ paimon_column_list(arguments['dest_columns']) }})
  select {{ paimon_column_list(arguments['dest_columns']) }} from {{ arguments['temp_relation'] }}
{%- endmacro %}


{# A plain INSERT into a table with a primary key replaces rows of the same key, and reads nothing. #}
{% macro get_incremental_upsert_sql(arguments) -%}
  {{ paimon__get_incremental_append_sql(arguments) }}
{%- endmacro %}


{% macro paimon__get_incremental_insert_overwrite_sql(arguments) -%}
  insert overwrite table {{ arguments['target_relation'] }} ({{ paimon_column_list(arguments['dest_columns']) }})
  select {{ paimon_column_list(arguments['dest_columns']) }} from {{ arguments['temp_relation'] }}
{%- endmacro %}


{% macro paimon__get_incremental_microbatch_sql(arguments) -%}
  {{ paimon__get_incremental_insert_overwrite_sql(arguments) }}
{%- endmacro %}


{% macro paimon__get_incremental_merge_sql(arguments) -%}
  {{ get_merge_sql(arguments['target_relation'], arguments['temp_relation'], arguments['unique_key'],
                   arguments['dest_columns'], arguments['incremental_predicates']) }}
{%- endmacro %}


{% macro paimon__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) -%}
  {%- set names = dest_columns | map(attribute='name') | list -%}
  {%- set keys = [unique_key] if unique_key is string else unique_key -%}
  {%- set conditions = [] + (incremental_predicates or []) -%}
  {%- for key in keys -%}
    {%- set column = adapter.quote(key) if key in names else key -%}
    {%- do conditions.append('DBT_INTERNAL_SOURCE.' ~ column ~ ' = DBT_INTERNAL_DEST.' ~ column) -%}
  {%- endfor -%}
  {%- set updates = get_merge_update_columns(config.get('merge_update_columns'), config.get('merge_exclude_columns'), dest_columns) -%}
  {%- if updates is none -%}
    {%- set updates = names | reject('in', keys) | map('string') | list -%}
  {%- endif -%}
  merge into {{ target }} as DBT_INTERNAL_DEST
  using {{ source }} as DBT_INTERNAL_SOURCE
  on {{ conditions | map('string') | join(' and ') }}
  {%- if updates %}
  when matched then update set
    {%- for name in updates %}
    {% set column = adapter.quote(name) if name in names else name -%}
    DBT_INTERNAL_DEST.{{ column }} = DBT_INTERNAL_SOURCE.{{ column }}{{ ',' if not loop.last }}
    {%- endfor %}
  {%- endif %}
  when not matched then insert ({{ paimon_column_list(dest_columns) }})
  values ({{ paimon_column_list(dest_columns, 'DBT_INTERNAL_SOURCE.') }})
{%- endmacro %}
