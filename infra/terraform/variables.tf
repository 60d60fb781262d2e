variable "prefix" {
  description = "Prefix of all table names: Weir's setting store.table_prefix."
  type        = string
  default     = ""
}

variable "kms_key_arn" {
  description = "Key that encrypts the tables. Without it DynamoDB uses the AWS managed key of the account."
  type        = string
  default     = null
}

variable "bucket_arn" {
  description = "S3 bucket of raw outputs, large texts, exports and archives: reviews.raw, practice.objects, keeper.export and limiter.audit_archive. The policies let servers and commands use it."
  type        = string
  default     = null
}

variable "deletion_protection" {
  description = "Whether DynamoDB refuses to delete the tables."
  type        = bool
  default     = true
}

variable "alarm_topic_arns" {
  description = "SNS topics that alarms notify. Without one there are no budgets. The policy of the first must let budgets.amazonaws.com publish."
  type        = list(string)
  default     = []
}

variable "daily_cost_max_usd" {
  description = "Cost of the requests to one table in a day, in USD, above which an alarm goes off."
  type        = number
  default     = 10
}

variable "daily_budget_usd" {
  description = "Cost of DynamoDB in the account in a day, in USD, above which a budget notifies the first of the topics."
  type        = number
  default     = 10
}

variable "monthly_budget_usd" {
  description = "Projected cost of DynamoDB in the account in a month, in USD, above which a budget notifies the first of the topics."
  type        = number
  default     = 250
}

variable "usd_per_million_writes" {
  description = "Price of a million write request units in the region, in USD."
  type        = number
  default     = 0.625
}

variable "usd_per_million_reads" {
  description = "Price of a million read request units in the region, in USD."
  type        = number
  default     = 0.125
}

variable "tags" {
  description = "Tags of all resources."
  type        = map(string)
  default     = {}
}
