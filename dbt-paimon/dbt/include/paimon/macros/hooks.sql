{# Macros for hooks and run-operation. Each returns a statement: `post_hook: "{{ paimon_create_tag(this, 'daily') }}"`. #}

{# CALL sys.NAME(table => …, argument => value, …); arguments that are none are left out. #}
{% macro paimon_call(procedure, relation) -%}
  {%- set arguments = ['table => ' ~ adapter.literal(relation.in_catalog)] -%}
  {%- for name, value in kwargs.items() if value is not none -%}
    {%- do arguments.append(name ~ ' => ' ~ (value if value is number and value is not boolean else adapter.literal(value))) -%}
  {%- endfor -%}
  call {{ adapter.quote(relation.database) }}.sys.{{ procedure }}({{ arguments | join(', ') }})
{%- endmacro %}


{# Tag the latest snapshot, or another one; an existing tag moves. `retain` is a duration such as '90 days'. #}
{% macro paimon_create_tag(relation, tag, snapshot=none, retain=none) -%}
  alter table {{ relation }} create or replace tag {{ adapter.quote(tag) }}
  {%- if snapshot is not none %} as of version {{ snapshot | int }}{% endif %}
  {%- if retain is not none %} retain {{ retain }}{% endif %}
{%- endmacro %}


{% macro paimon_delete_tag(relation, tag) -%}
  {{ paimon_call('delete_tag', relation, tag=tag) }}
{%- endmacro %}


{# Create a branch from a tag, or with the schema only; an existing branch stays as it is. #}
{% macro paimon_create_branch(relation, branch, tag=none) -%}
  {{ paimon_call('create_branch', relation, branch=branch, tag=tag, ignoreIfExists='true') }}
{%- endmacro %}


{% macro paimon_delete_branch(relation, branch) -%}
  {{ paimon_call('delete_branch', relation, branch=branch) }}
{%- endmacro %}


{% macro paimon_fast_forward(relation, branch) -%}
  {{ paimon_call('fast_forward', relation, branch=branch) }}
{%- endmacro %}


{% macro paimon_compact(relation, where=none, order_strategy=none, order_by=none, compact_strategy=none) -%}
  {{ paimon_call('compact', relation, where=where, order_strategy=order_strategy, order_by=order_by, compact_strategy=compact_strategy) }}
{%- endmacro %}


{% macro paimon_expire_snapshots(relation, retain_max=none, retain_min=none, older_than=none) -%}
  {{ paimon_call('expire_snapshots', relation, retain_max=retain_max, retain_min=retain_min, older_than=older_than) }}
{%- endmacro %}
