select paid, revenue
from (select sum(amount) as paid from {{ ref('raw_payments') }})
cross join (select sum(revenue) as revenue from {{ ref('daily_revenue') }})
where paid <> revenue
