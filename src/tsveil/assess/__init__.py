"""What is judged of a release before it is published. Nothing here writes files or draws pages."""
