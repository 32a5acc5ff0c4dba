{{ config(materialized='incremental', incremental_strategy='merge', unique_key='method') }}

select method, count(*) as payments, sum(amount) as amount from {{ ref('stg_payments') }} group by method
