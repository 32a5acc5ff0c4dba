"""Names of settings for object stores, and whether each is used, refused or ignored. Names have the spelling of Java
and Hadoop, without their prefix. `plain` makes different spellings equal.
"""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.lazy import regex

_SEPARATORS = regex(r"[.\-_]")


def plain(name: str) -> str:
    """Return a name in lower case, without '.', '-' and '_'."""
    return _SEPARATORS.sub("", name).lower()


def _plain_keys(found: Mapping[str, str]) -> dict[str, str]:
    return {plain(name): value for name, value in found.items()}


def _names(*texts: str) -> frozenset[str]:
    return frozenset(plain(name) for text in texts for name in text.split())


# For each setting, our name of it.
_KEYS = {
    "access.key": "access_key_id",
    "access.key.id": "access_key_id",
    "secret.key": "secret_access_key",
    "secret.access.key": "secret_access_key",
    "access.key.secret": "secret_access_key",
    "session.token": "session_token",
    "security.token": "session_token",
    "endpoint": "endpoint",
    "region": "region",
    "endpoint.region": "region",
    "path.style.access": "path_style",
    "connection.ssl.enabled": "tls",
    "anonymous": "anonymous",
    "profile": "profile",
}
_NET = {
    "proxy.host": "proxy_host",
    "proxy.port": "proxy_port",
    "proxy.username": "proxy_user",
    "proxy.password": "proxy_password",
    "proxy.ssl.enabled": "proxy_tls",
    "connection.establish.timeout": "connect_timeout",
    "connection.timeout": "read_timeout",
    "attempts.maximum": "retries",
    "max.error.retries": "retries",
}
USED = {
    "s3": _plain_keys(
        {
            **_KEYS,
            **_NET,
            "aws.credentials.provider": "provider",
            "assumed.role.arn": "role",
            "assumed.role.session.name": "role_session",
            "requester.pays.enabled": "requester_pays",
            "encryption.algorithm": "encryption",
            "server-side-encryption-algorithm": "encryption",
            "encryption.key": "encryption_key",
            "server-side-encryption.key": "encryption_key",
        }
    ),
    "oss": _plain_keys({**_KEYS, **_NET, "connection.secure.enabled": "tls"}),
    "obs": _plain_keys({**_KEYS, **_NET}),
    "cos": _plain_keys(
        {
            **_KEYS,
            **_NET,
            "userinfo.secretId": "access_key_id",
            "userinfo.secretKey": "secret_access_key",
            "userinfo.sessionToken": "session_token",
            "bucket.region": "region",
            "bucket.endpoint_suffix": "endpoint",
            "useHttps": "tls",
            "maxRetries": "retries",
        }
    ),
    "gcs": _plain_keys(
        {
            "auth.service.account.json.keyfile": "service_account",
            "storage.root.url": "endpoint",
            "auth.type": "auth_type",
            "anonymous": "anonymous",
            "proxy.address": "proxy_address",
            "proxy.username": "proxy_user",
            "proxy.password": "proxy_password",
        }
    ),
    "azure": _plain_keys(
        {
            "account.name": "account_name",
            "account.key": "account_key",
            "sas.fixed.token": "sas_key",
            "endpoint": "endpoint",
            "account.oauth2.client.id": "client_id",
            "account.oauth2.client.secret": "client_secret",
            "account.oauth2.client.endpoint": "token_endpoint",
            "anonymous": "anonymous",
        }
    ),
}

# For each setting, the reason why it is refused, or a replacement.
_CA = "certificates come from this machine; add your authority's certificate to them, or name its file in SSL_CERT_FILE"
_STORE = "key stores of Java are not read; set the keys themselves on the catalog"
_TOKENS = "delegation tokens are not made; set keys"
_OWN_KEYS = "keys of a customer are not sent; set the default key of the bucket"
_ACCOUNT_KEYS = "keys of a customer are not sent; set the encryption of the account"
_OBS_KEYS = "providers of Java cannot be used; set fs.obs.access.key and fs.obs.secret.key"
_ROLE = "roles are not assumed here; assume the role outside, and set its keys"
_CLASSES = "classes of Java cannot be used; set keys"
_BUCKET_KEY = "encryption is not requested for each object; set the default encryption of the bucket"
REFUSED = {
    "s3": _plain_keys(
        {
            "encryption.context": "an encryption context cannot be sent; set the key's policy instead",
            "acl.default": "access lists of objects are not set; use the policy of the bucket",
            "create.storage.class": "the class of storage is not set; use the lifecycle rules of the bucket",
            "assumed.role.external.id": "an external id is not sent; assume the role outside, and set its keys",
            "assumed.role.policy": "a policy is not sent with the role; assume the role outside, and set its keys",
            "assumed.role.credentials.provider": "the role is assumed with the keys of the environment only",
            "assumed.role.sts.endpoint": "the role is assumed at the endpoint of the environment; set "
            "AWS_ENDPOINT_URL_STS",
            "assumed.role.sts.endpoint.region": "the role is assumed in the region of the environment; set AWS_REGION",
            "custom.signers": "signers of Java cannot be used; set keys",
            "http.signer.class": "signers of Java cannot be used; set keys",
            "s3.client.factory.impl": "clients of Java cannot be used",
            "security.credential.provider.path": _STORE,
            "delegation.tokens.enabled": _TOKENS,
            "delegation.token.binding": _TOKENS,
            "endpoint.fips": "endpoints of FIPS are not chosen; set fs.s3a.endpoint to one of them",
            "accesspoint.arn": "access points are not used; write the location with the alias of the access point",
            "accesspoint.required": "access points are not used; write the location with the alias of the access point",
        }
    ),
    "oss": _plain_keys(
        {
            "server-side-encryption": _BUCKET_KEY,
            "server-side-encryption-algorithm": _BUCKET_KEY,
            "server-side-encryption-key-id": _BUCKET_KEY,
            "credentials.provider": "providers of Java cannot be used; set fs.oss.accessKeyId and "
            "fs.oss.accessKeySecret",
            "security.credential.provider.path": _STORE,
            "acl.default": "access lists of objects are not set; use the policy of the bucket",
            "assumed.role.arn": _ROLE,
        }
    ),
    "obs": _plain_keys(
        {
            "server-side-encryption-type": _BUCKET_KEY,
            "server-side-encryption-key": _BUCKET_KEY,
            "credentials.provider": _OBS_KEYS,
            "security.provider": _OBS_KEYS,
            "security.credential.provider.path": _STORE,
            "acl.default": "access lists of objects are not set; use the policy of the bucket",
            "cname": "own domains are not used; set fs.obs.endpoint to the endpoint of the region",
            "client.factory.impl": "clients of Java cannot be used",
        }
    ),
    "cos": _plain_keys(
        {
            "server-side-encryption.algorithm": _BUCKET_KEY,
            "server-side-encryption.key": _BUCKET_KEY,
            "server-side-encryption.context": _BUCKET_KEY,
            "client-side-encryption.enabled": "objects are not encrypted here; use the encryption of the bucket",
            "customer.domain": "own domains are not used; set fs.cosn.bucket.endpoint_suffix",
            "userinfo.appid": "write the location with the whole name of the bucket, cosn://NAME-APPID/path",
            "storage.class": "the class of storage is not set; use the lifecycle rules of the bucket",
        }
    ),
    "gcs": _plain_keys(
        {
            "encryption.algorithm": _OWN_KEYS,
            "encryption.key": _OWN_KEYS,
            "encryption.key.hash": _OWN_KEYS,
            "auth.service.account.private.key": "set fs.gs.auth.service.account.json.keyfile to a file with the key",
            "auth.service.account.keyfile": "P12 files are not read; set fs.gs.auth.service.account.json.keyfile",
            "auth.impersonation.service.account": "impersonation is not done; use a key of that account",
            "auth.access.token.provider": _CLASSES,
            "auth.access.token.provider.impl": _CLASSES,
            "delegation.token.binding": _TOKENS,
            "requester.pays.mode": "requests are not charged to a project; use a bucket that its owner pays for",
            "storage.service.path": "the path of the service is not changed; set fs.gs.storage.root.url",
        }
    ),
    "azure": _plain_keys(
        {
            "encryption.key": _ACCOUNT_KEYS,
            "encryption.encoded.client-provided-key": _ACCOUNT_KEYS,
            "client-provided-encryption-key": _ACCOUNT_KEYS,
            "encryption.context.provider.type": _ACCOUNT_KEYS,
            "sas.token.provider.type": "providers of Java cannot be used; set fs.azure.sas.fixed.token",
            "enable.delegation.token": _TOKENS,
            "delegation.token.provider.type": _TOKENS,
            "secure.mode": "keys of a remote service are not used; set fs.azure.account.key",
            "appendblob.directories": "append blobs are not written; remove the folders from this setting",
            "page.blob.dir": "page blobs are not written; remove the folders from this setting",
            "security.credential.provider.path": _STORE,
        }
    ),
}
_S3_SIGNERS = ("AWSS3V4SignerType", "AWS4SignerType")
# For each setting, the values that match the client's behaviour anyway, and why other values are refused.
ONLY: dict[str, dict[str, tuple[tuple[str, ...], str]]] = {
    "s3": {
        plain(name): (_S3_SIGNERS, "requests are signed by version 4 of Amazon's algorithm; remove older versions")
        for name in ("signing-algorithm", "s3.signing-algorithm", "sts.signing-algorithm")
    },
    "obs": {},
    "cos": {
        plain("credentials.provider"): (
            (
                "org.apache.hadoop.fs.auth.SimpleCredentialProvider",
                "org.apache.hadoop.fs.auth.SimpleCredentialsProvider",
                "org.apache.hadoop.fs.cosn.auth.SimpleCredentialsProvider",
            ),
            "providers of Java cannot be used; set fs.cosn.userinfo.secretId and fs.cosn.userinfo.secretKey",
        ),
    },
    "oss": {
        plain("signature.version"): (("V4",), "requests are signed by version 4 of Amazon's algorithm"),
    },
    "gcs": {
        plain("auth.type"): (
            ("UNAUTHENTICATED", "APPLICATION_DEFAULT", "COMPUTE_ENGINE", "SERVICE_ACCOUNT_JSON_KEYFILE"),
            "the credentials of the environment and fs.gs.auth.service.account.json.keyfile are the only "
            "supported ways",
        ),
    },
    "azure": {
        plain("account.keyprovider"): (
            (
                "org.apache.hadoop.fs.azure.SimpleKeyProvider",
                "org.apache.hadoop.fs.azurebfs.services.SimpleKeyProvider",
            ),
            "providers of Java cannot be used; set fs.azure.account.key",
        ),
        plain("account.auth.type"): (
            ("SharedKey", "OAuth", "SAS"),
            "keys of an account, OAuth by a client id and a secret, and a fixed SAS are the only supported ways",
        ),
        plain("always.use.https"): (("true",), "set fs.azure.endpoint to an address that begins with http://"),
    },
}

# Settings that only affect Java's client: its threads, buffers, retries, listings, caches, marks and reports.
_EVERY = "impl block.size buffer.dir user.agent.prefix threads.max threads.keepalivetime max.total.tasks list.version"
NEEDLESS = {
    "s3": _names(
        _EVERY,
        """connection.maximum connection.acquisition.timeout connection.idle.time connection.ttl connection.keepalive
        connection.expect.continue connection.request.timeout connection.part.upload.timeout socket.send.buffer
        socket.recv.buffer paging.maximum executor.capacity multipart.size multipart.threshold multipart.purge
        multipart.purge.age multipart.uploads.enabled multiobjectdelete.enable fast.upload fast.upload.buffer
        fast.upload.active.blocks readahead.range ssl.channel.mode change.detection.source change.detection.mode
        change.detection.version.required etag.checksum.enabled retry.limit retry.interval retry.throttle.limit
        retry.throttle.interval retry.http.5xx.errors experimental.input.fadvise input.fadvise
        input.async.drain.threshold input.stream.type input.stream.custom.factory bucket.probe
        bucket.probe.skip vectored.read.min.seek.size vectored.read.max.merged.size vectored.active.ranged.reads
        prefetch.enabled prefetch.block.size prefetch.block.count prefetch.max.blocks.count performance.flags
        create.performance create.performance.enabled rename.raises.exceptions bulk.delete.page.size
        downgrade.syncable.exceptions directory.marker.retention directory.operations.purge.uploads
        authoritative.path metadatastore.impl metadatastore.authoritative metadatastore.fail.on.write.error
        metadatastore.metadata.ttl cross.region.access.enabled optimized.copy.from.local.enabled
        assumed.role.session.duration committer.name committer.magic.enabled committer.threads
        committer.staging.tmp.path committer.staging.unique-filenames committer.staging.conflict-mode
        committer.staging.abort.pending.uploads committer.abort.pending.uploads committer.require.uuid
        committer.generate.uuid committer.magic.track.commits.in.memory.enabled committer.magic.cleanup.enabled
        audit.enabled audit.service.classname audit.request.handlers audit.execution.interceptors
        audit.referrer.enabled audit.referrer.filter audit.reject.out.of.span.operations""",
    ),
    "obs": _names(
        _EVERY,
        """connection.maximum socket.send.buffer socket.recv.buffer paging.maximum copy.threads.max delete.threads.max
        threads.core multipart.size multipart.purge multipart.purge.age multiobjectdelete.enable
        multiobjectdelete.maximum multiobjectdelete.recursion multiobjectdelete.threshold fast.upload
        fast.upload.buffer fast.upload.active.blocks readahead.range read.transform.enable idle.connection.time
        max.idle.connections keep.alive validate.certificate strict.hostname.verification verify.response.content.type
        upload.stream.retry.buffer.size read.buffer.size write.buffer.size copypart.size copypart.threads.max
        list.threads.core list.threads.max list.workqueue.capacity list.parallel.factor trash.enable trash.dir""",
    ),
    "cos": _names(
        _EVERY,
        """user.agent tmp.dir buffer.size upload.buffer upload.buffer.size upload.part.size upload_thread_pool
        copy_thread_pool retry.interval.seconds threads.keep_alive_time read.ahead.block.size read.ahead.queue.size
        max.connection.num crc64.checksum.enabled crc32c.checksum.enabled traffic.limit complete.mpu.check
        trsf.fs.ofs.tmp.cache.dir liststatus.list_max_keys""",
    ),
    "oss": _names(
        _EVERY,
        """connection.maximum paging.maximum multipart.upload.size multipart.upload.threshold multipart.upload.part.size
        multipart.download.size multipart.download.threads multipart.download.ahead.part.max.number max.copy.threads
        max.copy.tasks.per.dir upload.active.blocks fast.upload.buffer fast.upload.active.blocks
        fast.upload.buffer.size fast.upload.memory.limit""",
    ),
    "gcs": _names(
        _EVERY,
        """project.id working.dir implicit.dir.repair.enable implicit.dir.infer.enable glob.flatlist.enable
        glob.concurrent.enable glob.algorithm copy.with.rewrite.enable copy.batch.threads
        copy.max.requests.per.batch rewrite.max.bytes.per.call rewrite.max.chunk.size list.max.items.per.call
        max.requests.per.batch batch.threads status.parallel.enable lazy.init.enable reported.permissions
        bucket.delete.enable checksum.type performance.cache.enable performance.cache.max.entry.age.ms
        create.items.conflict.check.enable marker.file.pattern max.wait.for.empty.object.creation.ms
        application.name.suffix client.type client.upload.type grpc.enable grpc.directpath.enable
        grpc.trafficdirector.enable grpc.checksums.enable grpc.read.timeout grpc.write.timeout
        http.transport.type http.max.retry http.connect-timeout http.read-timeout inputstream.fadvise
        inputstream.fast.fail.on.not.found.enable inputstream.support.gzip.encoding.enable inputstream.buffer.size
        inputstream.inplace.seek.limit inputstream.min.range.request.size outputstream.buffer.size
        outputstream.pipe.buffer.size outputstream.pipe.type outputstream.upload.chunk.size
        outputstream.upload.cache.size outputstream.direct.upload.enable outputstream.type
        outputstream.sync.min.interval outputstream.sync.min.interval.ms tracelog.enable operation.tracelog.enable
        cloud.logging.enable metrics.sink hierarchical.namespace.folders.enable auth.service.account.enable
        auth.null.enable""",
    ),
    "azure": _names(
        _EVERY,
        """io.retry.max.retries io.retry.backoff.interval io.retry.min.backoff.interval io.retry.max.backoff.interval
        custom.token.fetch.retry.count oauth.token.fetch.retry.max.retries oauth.token.fetch.retry.min.backoff.interval
        oauth.token.fetch.retry.max.backoff.interval oauth.token.fetch.retry.delta.backoff
        skipUserGroupMetadataDuringInitialization identity.transformer.class
        identity.transformer.enable.short.name identity.transformer.domain.name
        identity.transformer.service.principal.id identity.transformer.service.principal.substitution.list
        identity.transformer.skip.superuser.replacement local.user.sp.mapping.file.path local.group.sg.mapping.file.path
        enable.flush disable.outputstream.flush read.request.size write.request.size block.location.impersonatedhost
        concurrentRequestCount.in concurrentRequestCount.out readaheadqueue.depth readahead.range
        read.alwaysReadBufferSize read.readahead.blocksize read.smallfilescompletely read.optimizefooterread
        write.max.concurrent.requests write.max.requests.to.queue write.enableappendwithflush data.blocks.buffer
        block.upload.active.blocks block.upload.buffer.dir enable.autothrottling account.level.throttling.enabled
        client.correlationid tracingheader.format cluster.name cluster.type ssl.channel.mode list.max.results
        atomic.rename.key enable.check.access account.hns.enabled use.upn abfs.latency.track enable.readahead
        enable.readahead.v2 buffered.pread.disable autothrottling.enable enable.rename.resilience
        enable.conditional.create.overwrite networking.library lease.threads""",
    ),
}
# An unknown name with one of these parts may change where or how data is stored, or which keys are used: a warning is
# not enough.
_GRAVE = regex(
    r"encrypt|kms|^sse|^cse|credential|token|sign(?:er|ing|ature)|keyprovider|jceks|secret|password|sas|"
    r"^acl|storageclass|fips|accesspoint|impersonat|oauth|^auth|role|endpoint|url|header"
)
_CERTIFICATES = regex(r"truststore|keystore|certificate|cabundle|cafile|insecure|verif|trustall|sslca|sslcert")
_OFF = ("false", "none", "disabled")


def refusal(kind: str, name: str, value: str) -> str:
    """Return the reason why a setting without effect is refused, or "" if it is not refused. `name` is plain."""
    value = value.strip().lower()
    if not value:
        return ""
    if only := ONLY[kind].get(name):
        return "" if value in (usual.lower() for usual in only[0]) else only[1]
    if value in _OFF and "verif" not in name:  # switching off certificate checks has an effect
        return ""
    if reason := REFUSED[kind].get(name):
        return reason
    if name in NEEDLESS[kind]:
        return ""
    if _CERTIFICATES.search(name):
        return _CA
    if _GRAVE.search(name):
        return "it is unknown, and may change where or how data is stored, or which keys are used"
    return ""
