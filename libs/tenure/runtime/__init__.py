"""What all services run on: settings, composition, web, logging."""
