"""Object stores through `obstore`: S3 and storages that speak its protocol, OSS, Google and Azure."""
