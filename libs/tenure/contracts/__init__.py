"""HTTP wire models, one module per service. They are the public API: fields are added, never changed."""
