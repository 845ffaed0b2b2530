"""Makes the sentences on what differs, where no named mistake fits."""
