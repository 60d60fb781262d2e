# The alarms of a table: throttles, slow reads and writes, faults of DynamoDB, and the cost of a day.
locals {
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
    expression  = "(writes * ${var.usd_per_million_writes} + reads * ${var.usd_per_million_reads}) / 1000000"
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
