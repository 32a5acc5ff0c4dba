{{ config(materialized='incremental', primary_key='order_id', options={'bucket': 2}, on_schema_change='append_new_columns') }}

select o.order_id, o.customer_id, o.order_date, o.status, sum(p.amount) as amount
from {{ ref('stg_orders') }} as o
left join {{ ref('stg_payments') }} as p on p.order_id = o.order_id
{% if is_incremental() %}
where o.order_date >= (select max(order_date) - interval 3 days from {{ this }})
{% endif %}
group by all
