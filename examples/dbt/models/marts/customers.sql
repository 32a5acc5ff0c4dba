{{ config(primary_key='customer_id', options={'bucket': 2}, post_hook="{{ paimon_create_tag(this, 'latest_run', retain='90 days') }}") }}

select
  c.customer_id,
  c.first_name,
  c.last_name,
  min(o.order_date) as first_order,
  count(o.order_id) as orders,
  coalesce(sum(o.amount), 0) as lifetime_value
from {{ ref('stg_customers') }} as c
left join {{ ref('orders') }} as o on o.customer_id = c.customer_id
group by all
