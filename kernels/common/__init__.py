"""Headers, launch plans and helpers of library peers that several operations share."""
