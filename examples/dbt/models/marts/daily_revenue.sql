{{ config(materialized='incremental', incremental_strategy='insert_overwrite', partition_by='order_date') }}

select count(*) as orders, sum(amount) as revenue, order_date
from {{ ref('orders') }}
{% if is_incremental() %}
where order_date >= (select max(order_date) from {{ this }})
{% endif %}
group by order_date
