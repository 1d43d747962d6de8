"""Settings, all read from the environment; docs/reference/environment.md lists every variable."""

from pathlib import Path

from environs import Env

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = BASE_DIR / "var"

env = Env()

DEBUG = env.bool("DJANGO_DEBUG", False)
SECRET_KEY = env.str("DJANGO_SECRET_KEY", "insecure-development-key" if DEBUG else "")
ALLOWED_HOSTS = ["*"]  # the tenancy middleware answers 404 to a host that nobody has

# Apps by where their tables live (see dms_project/tenancy): everything else lives in `public` and in every tenant.
TENANCY_PUBLIC_APPS = ["tenancy"]
TENANCY_TENANT_APPS = ["documents"]

INSTALLED_APPS = [
    "dms_project.tenancy",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "ninja",
    "dms_project.tokens",
    "jobqueue",
    "documents",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "dms_project.tenancy.middleware.TenantMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "dms_project.urls"
WSGI_APPLICATION = "dms_project.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
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

DATABASES = {"default": env.dj_db_url("DATABASE_URL", conn_max_age=60, conn_health_checks=True)}
DATABASES["default"]["ENGINE"] = "dms_project.tenancy.postgresql"
DATABASE_ROUTERS = ["dms_project.tenancy.routers.TenancyRouter"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

JOBQUEUE = {"TENANTS": "dms_project.tenancy.fleet"}

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "static/"
