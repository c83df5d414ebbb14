"""What round trips, rivals, X-rays and short answers show."""
