# What a running server does, and nothing else: it neither creates nor deletes tables.
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
    resources = flatten([
      for table in aws_dynamodb_table.weir : [table.arn, "${table.arn}/index/*"]
    ])
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
}

# The commands `weir table scan`, `weir copy` and `weir doctor` also scan and list.
data "aws_iam_policy_document" "operator" {
  source_policy_documents = [data.aws_iam_policy_document.server.json]

  statement {
    sid       = "Scan"
    actions   = ["dynamodb:Scan"]
    resources = [for table in aws_dynamodb_table.weir : table.arn]
  }

  statement {
    sid       = "List"
    actions   = ["dynamodb:ListTables"]
    resources = ["*"]
  }
}

resource "aws_iam_policy" "server" {
  name_prefix = "${var.prefix}weir-server-"
  description = "What a running Weir server does with its tables."
  policy      = data.aws_iam_policy_document.server.json
  tags        = var.tags
}

resource "aws_iam_policy" "operator" {
  name_prefix = "${var.prefix}weir-operator-"
  description = "What the commands of Weir do with its tables, beside what a server does."
  policy      = data.aws_iam_policy_document.operator.json
  tags        = var.tags
}
