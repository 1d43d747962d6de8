"""Settings, all read from the environment; docs/reference/environment.md lists every variable."""

import os
from datetime import timedelta
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from dms_project.environment import Environment, InvalidEnvironment

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = BASE_DIR / "var"

env = Environment()
if "DATABASE_URL" not in os.environ:
    from dotenv import load_dotenv

    # What `make run` set up in this clone, so that manage.py works beside it without exporting anything.
    load_dotenv(VAR_DIR / "development.env")

DEBUG = env.boolean("DJANGO_DEBUG", False)
SECRET_KEY = (
    env.text("DJANGO_SECRET_KEY", "insecure-development-key") if DEBUG else env.text("DJANGO_SECRET_KEY", least=50)
)
ALLOWED_HOSTS = ["*"]  # the tenancy middleware answers 404 to a host that nobody has

# --- Apps, by where their tables live: in `public`, in tenants, or (all the others) in both -------------------------

TENANCY_PUBLIC_APPS = ["tenancy"]
TENANCY_TENANT_APPS = ["documents"]
TENANCY_SESSION_POOLER = env.boolean("DMS_SESSION_POOLER", False)

INSTALLED_APPS = [
    "dms_project.tenancy",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.staticfiles",
    "django_htmx",  # brings htmx itself, too
    "dms_project.logins",
    "dms_project.tokens",
    "dms_project.operators",
    "jobqueue",
    "jobqueue.tenants",
    "documents",
]

# --- Requests --------------------------------------------------------------------------------------------------------

MIDDLEWARE = [
    "dms_project.health.ReadinessMiddleware",  # first: a probe needs no https, no tenant, no session
    "dms_project.metrics.MetricsMiddleware",
    "dms_project.malformed.MalformedMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "dms_project.browser_policy.BrowserPolicyMiddleware",
    "dms_project.api_answers.ApiAnswersMiddleware",
    "dms_project.outage.OutageMiddleware",
    "dms_project.tenancy.middleware.TenantMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

# Where the API's documentation comes from. Not an app: every worker would load the API with it.
NINJA_DIR = Path(str(distribution("django-ninja").locate_file("ninja")))

ROOT_URLCONF = "dms_project.urls"
WSGI_APPLICATION = "dms_project.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [NINJA_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# Hashes, counts and bounds an upload on its way into a temporary file: a file is never whole in memory.
FILE_UPLOAD_HANDLERS = ["documents.uploads.DocumentUploadHandler"]
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024  # everything in a request but its files
DATA_UPLOAD_MAX_NUMBER_FILES = 10
DMS_MAX_UPLOAD_BYTES = env.integer("DMS_MAX_UPLOAD_BYTES", 2 * 1024**3, least=1)

# Whoever has it may read /metrics from other machines, too.
DMS_METRICS_TOKEN = env.text("DMS_METRICS_TOKEN", "", least=20)
# Of these a few are kept for probes (dms_project/wsgi.py); each of the others may hold a database connection.
DMS_WEB_THREADS = env.integer("DMS_WEB_THREADS", 16, least=5)
DMS_OPERATORS_HOST = env.text("DMS_OPERATORS_HOST", "localhost")

# --- Database --------------------------------------------------------------------------------------------------------

DATABASES: dict[str, Any] = {"default": env.database("DATABASE_URL", conn_max_age=60, conn_health_checks=True)}
DATABASES["default"]["ENGINE"] = "dms_project.tenancy.postgresql"
# A server that is gone or unreachable is noticed within seconds, so that nobody's thread waits for minutes.
DATABASES["default"]["OPTIONS"] = {
    "application_name": "dms",
    "connect_timeout": 3,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
} | DATABASES["default"].get("OPTIONS", {})
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "KEY_FUNCTION": "dms_project.tenancy.caches.cache_key",
        "OPTIONS": {"MAX_ENTRIES": 20_000},  # failed logins are counted here: a full cache forgets some
    }
}
DATABASE_ROUTERS = ["dms_project.tenancy.routers.TenancyRouter"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

JOBQUEUE = {
    "TENANTS": "dms_project.tenancy.served",
    "LEDGER": "jobqueue.tenants.ledger.WakeupLedger",
    "SCHEDULER": "jobqueue.tenants.scheduler.FairShares",
}

# --- Files -----------------------------------------------------------------------------------------------------------

# How long a call of the store may take, whatever hangs. A file's bytes have as much time more as this rate gives them.
DMS_STORAGE_TIMEOUT = env.duration("DMS_STORAGE_TIMEOUT", timedelta(seconds=20), least=timedelta(seconds=1))
DMS_STORAGE_MIN_RATE = env.integer("DMS_STORAGE_MIN_RATE", 256 * 1024, least=1)
# Of users who are in none of the groups that are called like roles.
DMS_DEFAULT_ROLE = env.choice("DMS_DEFAULT_ROLE", "editor", ["reader", "editor", "admin"])
DMS_TRASH_RETENTION = env.duration("DMS_TRASH_RETENTION", timedelta(days=30), least=timedelta(0))
DMS_OCR_LANGUAGES = env.matching(
    "DMS_OCR_LANGUAGES", "deu+eng", r"([A-Za-z_]+(\+[A-Za-z_]+)*)?", "names of Tesseract's languages joined by +"
)
DMS_OCR_TIMEOUT = env.duration("DMS_OCR_TIMEOUT", timedelta(minutes=30), least=timedelta(seconds=10))
DMS_ORPHAN_GRACE = env.duration("DMS_ORPHAN_GRACE", timedelta(hours=24), least=timedelta(minutes=1))


def _documents_storage() -> dict[str, Any]:
    bucket = env.text("DMS_S3_BUCKET", "")
    if not bucket:
        location = env.text("DMS_STORAGE_DIR", str(VAR_DIR / "storage"))
        return {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": location, "file_permissions_mode": 0o600, "directory_permissions_mode": 0o700},
        }
    from botocore.config import Config

    keys = {name: env.text(name, "") for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
    if any(keys.values()) and not all(keys.values()):
        missing = next(name for name, value in keys.items() if not value)
        raise InvalidEnvironment(missing, "is not set, but the other key is")
    checksums: Any = env.choice("DMS_S3_CHECKSUMS", "when_required", ["when_required", "when_supported"])
    connect = env.duration("DMS_S3_CONNECT_TIMEOUT", timedelta(seconds=3), least=timedelta(seconds=1))
    read = env.duration("DMS_S3_READ_TIMEOUT", timedelta(seconds=8), least=timedelta(seconds=1))
    attempts = env.integer("DMS_S3_ATTEMPTS", 2, least=1)
    return {
        "BACKEND": "storages.backends.s3.S3Storage",
        "OPTIONS": {
            "bucket_name": bucket,
            "endpoint_url": env.url("DMS_S3_ENDPOINT_URL"),
            # Without keys boto3 looks where it always does: an instance role, a profile.
            "access_key": keys["AWS_ACCESS_KEY_ID"] or None,
            "secret_key": keys["AWS_SECRET_ACCESS_KEY"] or None,
            "default_acl": None,
            "file_overwrite": False,
            "querystring_auth": True,
            "max_memory_size": 4 * 1024**2,  # the default keeps a download whole in memory
            "client_config": Config(
                signature_version="s3v4",
                s3={"addressing_style": "path"},
                # Other S3 servers than Amazon's don't know the newer checksums, or store them among the bytes.
                request_checksum_calculation=checksums,
                response_checksum_validation=checksums,
                connect_timeout=connect.total_seconds(),
                read_timeout=read.total_seconds(),
                retries={"mode": "standard", "total_max_attempts": attempts},
                max_pool_connections=DMS_WEB_THREADS,  # one client serves all threads
            ),
        },
    }


STORAGES = {
    "default": _documents_storage(),
    "documents": _documents_storage(),
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
STATIC_URL = "static/"
STATICFILES_DIRS = [("ninja", NINJA_DIR / "static/ninja")]
STATIC_ROOT = None if DEBUG else VAR_DIR / "static"  # in development whitenoise finds them where they are

# --- Security --------------------------------------------------------------------------------------------------------

# Cookies carry no domain: a login at one tenant's host is never sent to another's. Over https their names say so too,
# which stops one tenant's host from planting a cookie for the others.
if not DEBUG:
    SESSION_COOKIE_NAME = "__Host-sessionid"
    CSRF_COOKIE_NAME = "__Host-csrftoken"
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    SECURE_SSL_REDIRECT = True
    SECURE_HSTS_SECONDS = env.integer("DMS_HSTS_SECONDS", 365 * 24 * 3600, least=1)
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SILENCED_SYSTEM_CHECKS = ["security.W021"]  # preloading binds a whole domain: its owner's decision, not ours

X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "documents.pages.errors.csrf_failure"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "login"
AUTHENTICATION_BACKENDS = ["dms_project.logins.throttle.Throttle", "django.contrib.auth.backends.ModelBackend"]
# A header in which the proxy in front puts the client's address, replacing any that came. None: nobody is in front.
DMS_CLIENT_ADDRESS_HEADER = env.text("DMS_CLIENT_ADDRESS_HEADER", "")
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

# --- Language, time, logs --------------------------------------------------------------------------------------------

LANGUAGE_CODE = "en"
LANGUAGES = [("de", "Deutsch"), ("en", "English")]
LOCALE_PATHS = [BASE_DIR / "dms_project/locale"]
LANGUAGE_COOKIE_SECURE = not DEBUG
LANGUAGE_COOKIE_SAMESITE = "Lax"
TIME_ZONE = "UTC"
USE_TZ = True

LOG_LEVEL = env.choice("DMS_LOG_LEVEL", "INFO", ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"])
LOG_FORMAT = env.choice("DMS_LOG_FORMAT", "text", ["text", "json"])
LOGGING_CONFIG = "dms_project.logs.configure"
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {"()": "dms_project.logs.TextFormatter"},
        "json": {"()": "dms_project.logs.JsonFormatter"},
    },
    "filters": {
        "context": {"()": "dms_project.logs.ContextFilter"},
        "outage": {"()": "dms_project.logs.OutageFilter"},
        "exceptions": {"()": "dms_project.logs.ExceptionFilter"},
    },
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT, "filters": ["context", "outage"]},
    },
    # Libraries never at DEBUG: there they log headers, SQL with its parameters, and parts of files.
    "root": {"handlers": ["stderr"], "level": "INFO" if LOG_LEVEL == "DEBUG" else LOG_LEVEL},
    "loggers": {
        **{package: {"level": LOG_LEVEL} for package in ("dms_project", "documents", "jobqueue")},
        # Django's own handlers would print the same lines a second time, or try to send mail.
        **{name: {"level": "NOTSET", "handlers": [], "propagate": True} for name in ("django", "django.server")},
        # A request that was refused has its line in the access log; one that broke has a traceback to tell, too.
        "django.request": {"level": "ERROR", "filters": ["exceptions"]},
    },
}
