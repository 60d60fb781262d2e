# The policy of the servers has the actions of a running server and no others: a server with it neither creates, lists nor
# deletes tables. A test compares the actions with the calls that the server makes.
data "aws_iam_policy_document" "server" {
  statement {
    sid = "Items"
    actions = [
      "dynamodb:BatchGetItem",
      "dynamodb:BatchWriteItem",
      "dynamodb:ConditionCheckItem",
      "dynamodb:DeleteItem",
      "dynamodb:DescribeTable",
      "dynamodb:DescribeTimeToLive",
      "dynamodb:GetItem",
      "dynamodb:PutItem",
      "dynamodb:Query",
      "dynamodb:UpdateItem",
    ]
    resources = concat(local.table_arns, [
      for name, table in local.tables : "${aws_dynamodb_table.weir[name].arn}/index/*" if length(table.indexes) > 0
    ])
  }

  # Background jobs read whole tables, such as the prices.
  statement {
    sid       = "Scan"
    actions   = ["dynamodb:Scan"]
    resources = local.table_arns
  }

  statement {
    sid = "Feeds"
    actions = [
      "dynamodb:DescribeStream",
      "dynamodb:GetRecords",
      "dynamodb:GetShardIterator",
    ]
    resources = [for name in keys(local.feeds) : aws_dynamodb_table.weir[name].stream_arn]
  }

  dynamic "statement" {
    for_each = var.kms_key_arn == null ? [] : [var.kms_key_arn]
    content {
      sid       = "Key"
      actions   = ["kms:Decrypt", "kms:DescribeKey"]
      resources = [statement.value]
    }
  }

  dynamic "statement" {
    for_each = var.bucket_arn == null ? [] : [var.bucket_arn]
    content {
      sid       = "Objects"
      actions   = ["s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject"]
      resources = ["${statement.value}/*"]
    }
  }

  dynamic "statement" {
    for_each = var.bucket_arn == null ? [] : [var.bucket_arn]
    content {
      sid       = "Bucket"
      actions   = ["s3:ListBucket"]
      resources = [statement.value]
    }
  }
}

# `weir tables list` and `weir copy` also list tables, which IAM cannot restrict to a table.
data "aws_iam_policy_document" "operator" {
  source_policy_documents = [data.aws_iam_policy_document.server.json]

  statement {
    sid       = "List"
    actions   = ["dynamodb:ListTables"]
    resources = ["*"]
  }
}

locals {
  table_arns = [for table in aws_dynamodb_table.weir : table.arn]
}

resource "aws_iam_policy" "server" {
  name_prefix = "${var.prefix}weir-server-"
  description = "Lets a running Weir server use its tables."
  policy      = data.aws_iam_policy_document.server.json
  tags        = var.tags
}

resource "aws_iam_policy" "operator" {
  name_prefix = "${var.prefix}weir-operator-"
  description = "Lets the commands of Weir use its tables and list the tables of the account."
  policy      = data.aws_iam_policy_document.operator.json
  tags        = var.tags
}
