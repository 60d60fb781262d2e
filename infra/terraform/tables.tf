# The tables are those of ../tables.json, which a test compares with what the server declares.
locals {
  tables = {
    for table in jsondecode(file("${path.module}/../tables.json")) : table.name => {
      attributes = table.attributes
      partition  = table.partition
      sort       = try(table.sort, null)
      indexes    = table.indexes
      ttl        = try(table.ttl, null)
      feed       = table.feed
    }
  }
  feeds = { for name, table in local.tables : name => table if table.feed }
}

resource "aws_dynamodb_table" "weir" {
  for_each = local.tables

  name                        = "${var.prefix}${each.key}"
  billing_mode                = "PAY_PER_REQUEST"
  hash_key                    = each.value.partition
  range_key                   = each.value.sort
  stream_enabled              = each.value.feed
  stream_view_type            = each.value.feed ? "NEW_AND_OLD_IMAGES" : null
  deletion_protection_enabled = var.deletion_protection
  tags                        = var.tags

  dynamic "attribute" {
    for_each = each.value.attributes
    content {
      name = attribute.key
      type = attribute.value
    }
  }

  dynamic "global_secondary_index" {
    for_each = { for index in each.value.indexes : index.name => index }
    content {
      name            = global_secondary_index.key
      hash_key        = global_secondary_index.value.partition
      range_key       = global_secondary_index.value.sort
      projection_type = upper(global_secondary_index.value.projection)
    }
  }

  dynamic "ttl" {
    for_each = each.value.ttl == null ? [] : [each.value.ttl]
    content {
      enabled        = true
      attribute_name = ttl.value
    }
  }

  point_in_time_recovery {
    enabled = true
  }

  server_side_encryption {
    enabled     = true
    kms_key_arn = var.kms_key_arn
  }

  lifecycle {
    prevent_destroy = true
  }
}
