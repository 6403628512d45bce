"""What several operations share: headers, launch plans, and what library peers need."""
