"""What a release costs and what it still tells: information loss, forecasts, disclosure risk, scores."""
