"""The preparation of a query: request, filter, cursor, plan and query batches, before the first event is read."""
