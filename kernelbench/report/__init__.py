"""What people see of a run: tables on the console, charts, and one HTML page. Nothing here measures or judges."""
