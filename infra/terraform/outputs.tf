output "server_policy_arn" {
  description = "Policy for the role of the servers."
  value       = aws_iam_policy.server.arn
}

output "operator_policy_arn" {
  description = "Policy for people and programs that run commands."
  value       = aws_iam_policy.operator.arn
}

output "table_names" {
  description = "Names of the tables."
  value       = sort([for table in aws_dynamodb_table.weir : table.name])
}
