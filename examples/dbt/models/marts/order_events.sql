{{ config(materialized='incremental', incremental_strategy='append', post_hook="{{ paimon_compact(this) }}") }}

select order_id, status, current_timestamp() as seen_at
from {{ ref('stg_orders') }}
{% if is_incremental() %}
where order_id > (select max(order_id) from {{ this }})
{% endif %}
