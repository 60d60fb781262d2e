# The alarms of a table: throttles, also of each index, slow reads and writes, faults of DynamoDB, and the cost of a day. The
# budgets are of all tables in the account.
locals {
  indexes = merge([
    for table, spec in local.tables : {
      for index in spec.indexes : "${table}-${index.name}" => { table = table, index = index.name }
    }
  ]...)
  # An alarm takes at most ten metrics.
  operations = [
    "BatchGetItem", "BatchWriteItem", "DeleteItem", "GetItem", "PutItem", "Query", "Scan", "TransactGetItems",
    "TransactWriteItems", "UpdateItem",
  ]
  latency_max_ms = { GetItem = 50, Query = 50, PutItem = 100, UpdateItem = 100, TransactWriteItems = 100 }
  latencies = {
    for pair in setproduct(keys(local.tables), keys(local.latency_max_ms)) :
    "${pair[0]}-${pair[1]}" => { table = pair[0], operation = pair[1], max_ms = local.latency_max_ms[pair[1]] }
  }
}

resource "aws_cloudwatch_metric_alarm" "throttled_reads" {
  for_each = local.tables

  alarm_name          = "${var.prefix}${each.key}-throttled-reads"
  alarm_description   = "DynamoDB throttles reads: look for a hot partition key."
  namespace           = "AWS/DynamoDB"
  metric_name         = "ReadThrottleEvents"
  dimensions          = { TableName = aws_dynamodb_table.weir[each.key].name }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 1
  comparison_operator = "GreaterThanThreshold"
  threshold           = 100
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_topic_arns
  tags                = var.tags
}

resource "aws_cloudwatch_metric_alarm" "throttled_writes" {
  for_each = local.tables

  alarm_name          = "${var.prefix}${each.key}-throttled-writes"
  alarm_description   = "DynamoDB throttles writes: look for a hot partition key."
  namespace           = "AWS/DynamoDB"
  metric_name         = "WriteThrottleEvents"
  dimensions          = { TableName = aws_dynamodb_table.weir[each.key].name }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 1
  comparison_operator = "GreaterThanThreshold"
  threshold           = 100
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_topic_arns
  tags                = var.tags
}

# DynamoDB throttles the writes to a table whose index cannot keep up, so one throttle of an index is one too many.
resource "aws_cloudwatch_metric_alarm" "throttled_index_reads" {
  for_each = local.indexes

  alarm_name        = "${var.prefix}${each.key}-throttled-reads"
  alarm_description = "DynamoDB throttles reads of the index ${each.value.index}: look for a hot partition key."
  namespace         = "AWS/DynamoDB"
  metric_name       = "ReadThrottleEvents"
  dimensions = {
    TableName                = aws_dynamodb_table.weir[each.value.table].name
    GlobalSecondaryIndexName = each.value.index
  }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 1
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_topic_arns
  tags                = var.tags
}

resource "aws_cloudwatch_metric_alarm" "throttled_index_writes" {
  for_each = local.indexes

  alarm_name        = "${var.prefix}${each.key}-throttled-writes"
  alarm_description = "DynamoDB throttles writes to the index ${each.value.index}: look for a hot partition key."
  namespace         = "AWS/DynamoDB"
  metric_name       = "WriteThrottleEvents"
  dimensions = {
    TableName                = aws_dynamodb_table.weir[each.value.table].name
    GlobalSecondaryIndexName = each.value.index
  }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 1
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_topic_arns
  tags                = var.tags
}

resource "aws_cloudwatch_metric_alarm" "system_errors" {
  for_each = local.tables

  alarm_name          = "${var.prefix}${each.key}-system-errors"
  alarm_description   = "DynamoDB fails with errors of its own; the servers retry."
  evaluation_periods  = 3
  datapoints_to_alarm = 2
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_topic_arns
  tags                = var.tags

  metric_query {
    id          = "errors"
    label       = "System errors"
    expression  = "SUM(FILL(METRICS(), 0))"
    return_data = true
  }

  # DynamoDB counts them by operation only.
  dynamic "metric_query" {
    for_each = local.operations
    content {
      id = lower(metric_query.value)
      metric {
        namespace   = "AWS/DynamoDB"
        metric_name = "SystemErrors"
        dimensions  = { TableName = aws_dynamodb_table.weir[each.key].name, Operation = metric_query.value }
        stat        = "Sum"
        period      = 300
      }
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "latency" {
  for_each = local.latencies

  alarm_name        = "${var.prefix}${each.key}-latency"
  alarm_description = "The slowest hundredth of ${each.value.operation} takes more than ${each.value.max_ms} ms."
  namespace         = "AWS/DynamoDB"
  metric_name       = "SuccessfulRequestLatency"
  dimensions = {
    TableName = aws_dynamodb_table.weir[each.value.table].name
    Operation = each.value.operation
  }
  extended_statistic  = "p99"
  period              = 300
  evaluation_periods  = 3
  comparison_operator = "GreaterThanThreshold"
  threshold           = each.value.max_ms
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_topic_arns
  tags                = var.tags
}

resource "aws_cloudwatch_metric_alarm" "cost" {
  for_each = local.tables

  alarm_name          = "${var.prefix}${each.key}-cost"
  alarm_description   = "Requests to the table cost more than $${var.daily_cost_max_usd} in a day."
  evaluation_periods  = 1
  comparison_operator = "GreaterThanThreshold"
  threshold           = var.daily_cost_max_usd
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_topic_arns
  tags                = var.tags

  metric_query {
    id          = "cost"
    label       = "USD in a day"
    expression  = "(FILL(writes, 0) * ${var.usd_per_million_writes} + FILL(reads, 0) * ${var.usd_per_million_reads}) / 1000000"
    return_data = true
  }

  dynamic "metric_query" {
    for_each = { writes = "ConsumedWriteCapacityUnits", reads = "ConsumedReadCapacityUnits" }
    content {
      id = metric_query.key
      metric {
        namespace   = "AWS/DynamoDB"
        metric_name = metric_query.value
        dimensions  = { TableName = aws_dynamodb_table.weir[each.key].name }
        stat        = "Sum"
        period      = 86400
      }
    }
  }
}

# The sum of all tables, as billed: storage, streams and backups are part of it. AWS updates it a few times a day.
resource "aws_budgets_budget" "daily" {
  count = length(var.alarm_topic_arns) > 0 ? 1 : 0

  name         = "${var.prefix}weir-daily"
  budget_type  = "COST"
  time_unit    = "DAILY"
  limit_amount = tostring(var.daily_budget_usd)
  limit_unit   = "USD"
  tags         = var.tags

  cost_filter {
    name   = "Service"
    values = ["Amazon DynamoDB"]
  }

  notification {
    notification_type         = "ACTUAL"
    comparison_operator       = "GREATER_THAN"
    threshold                 = 100
    threshold_type            = "PERCENTAGE"
    subscriber_sns_topic_arns = [var.alarm_topic_arns[0]]
  }
}

resource "aws_budgets_budget" "monthly" {
  count = length(var.alarm_topic_arns) > 0 ? 1 : 0

  name         = "${var.prefix}weir-monthly"
  budget_type  = "COST"
  time_unit    = "MONTHLY"
  limit_amount = tostring(var.monthly_budget_usd)
  limit_unit   = "USD"
  tags         = var.tags

  cost_filter {
    name   = "Service"
    values = ["Amazon DynamoDB"]
  }

  notification {
    notification_type         = "FORECASTED"
    comparison_operator       = "GREATER_THAN"
    threshold                 = 100
    threshold_type            = "PERCENTAGE"
    subscriber_sns_topic_arns = [var.alarm_topic_arns[0]]
  }
}
