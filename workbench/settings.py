"""All settings, secure by default; what may differ between machines is read from the environment, strictly.

The table in README.md lists every variable.
"""

import os
import secrets
from pathlib import Path
from typing import Any

from django.utils.csp import CSP

from workbench.environment import (
    EnvironmentRefused,
    read_address,
    read_choice,
    read_database,
    read_flag,
    read_hosts,
    read_mail_address,
    read_mailer,
    read_secret,
    read_time_zone,
    read_whole,
    refuse_unknown,
)
from workbench.folder import data_folder, stored_secret_key
from workbench.pooling import check_if_it_spoke
from workbench.postgres import embedded_url
from workbench.proxying import proxy_variables, read_proxy
from workbench.stopping import is_stopping

VARIABLES = (
    "WORKBENCH_ADDRESS",
    "WORKBENCH_BROWSER",  # read by the browser tests only
    "WORKBENCH_DATA",
    "WORKBENCH_DEBUG",
    "WORKBENCH_DRAIN_SECONDS",
    "WORKBENCH_DRILLS",
    "WORKBENCH_HOSTS",
    "WORKBENCH_HTTPS",
    "WORKBENCH_LOG",
    "WORKBENCH_MAIL_FROM",
    "WORKBENCH_METRICS_TOKEN",
    "WORKBENCH_OLD_SECRET_KEY",
    "WORKBENCH_OTEL",
    "WORKBENCH_POOL",
    "WORKBENCH_POOLER",
    "WORKBENCH_SECRET_KEY",
    "WORKBENCH_SMTP",
    "WORKBENCH_STATEMENT_SECONDS",
    "WORKBENCH_STREAMS",
    "WORKBENCH_THREADS",
    "WORKBENCH_TIME_ZONE",
    "WORKBENCH_WORKERS",
)
refuse_unknown(os.environ, "WORKBENCH_", (*VARIABLES, *proxy_variables(os.environ)))

BASE_DIR = Path(__file__).resolve().parent.parent
WORKBENCH_DATA = data_folder(os.environ)
DEBUG = read_flag(os.environ, "WORKBENCH_DEBUG")
HTTPS = read_flag(os.environ, "WORKBENCH_HTTPS")
WORKERS = read_whole(os.environ, "WORKBENCH_WORKERS", 2, minimum=1, maximum=64)
THREADS = read_whole(os.environ, "WORKBENCH_THREADS", 8, minimum=1, maximum=256)
# Pages that are looked at at the same moment and are told of news at once, each on a thread of its own that the server
# must have beside the others; `up` has them. Other pages ask every ten seconds.
STREAMS = read_whole(os.environ, "WORKBENCH_STREAMS", 0, minimum=0, maximum=1024)
STOPPING = is_stopping
POOL = read_whole(os.environ, "WORKBENCH_POOL", THREADS, minimum=0, maximum=256)
DRAIN_SECONDS = read_whole(os.environ, "WORKBENCH_DRAIN_SECONDS", 0, minimum=0, maximum=300)

# Watching it: who asks for figures needs the token; without one there are none.
METRICS_TOKEN = read_secret(os.environ, "WORKBENCH_METRICS_TOKEN")
OTEL = read_flag(os.environ, "WORKBENCH_OTEL")
LOG = read_choice(os.environ, "WORKBENCH_LOG", ("plain", "json"))

# A key of this process only is enough for commands; wsgi.py refuses to serve with it.
_KEPT_KEY = read_secret(os.environ, "WORKBENCH_SECRET_KEY") or stored_secret_key(WORKBENCH_DATA)
SECRET_KEY = _KEPT_KEY or secrets.token_urlsafe(64)
SECRET_KEY_KEPT = bool(_KEPT_KEY)
# What the former key sealed and signed stays readable; what is new is sealed and signed with the present one.
_OLD_KEY = read_secret(os.environ, "WORKBENCH_OLD_SECRET_KEY")
SECRET_KEY_FALLBACKS = [_OLD_KEY] if _OLD_KEY else []

# The loopback names always work: only this machine can use them, and `up` asks /healthz by them.
ALLOWED_HOSTS = [*read_hosts(os.environ, "WORKBENCH_HOSTS"), "127.0.0.1", "localhost", "[::1]"]

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django_htmx",
    "guardian",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "procrastinate.contrib.django",
    "contracts",
    "workbench",
]

MIDDLEWARE = [
    "workbench.observing.requests.Observed",  # first, so that whatever the others answer is seen
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "contracts.views.language.StoredLanguage",
    "contracts.views.calling.KnownNames",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "workbench.urls"
WSGI_APPLICATION = "workbench.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "django.template.context_processors.i18n",
                "django.template.context_processors.csp",
                "django.template.context_processors.tz",
                "contracts.views.standing.standing",
                "contracts.views.secret_patterns.secret_patterns",
            ],
        },
    },
]

# Database

DATABASES = {"default": read_database(os.environ, "DATABASE_URL", embedded_url(WORKBENCH_DATA))}
# A refusal answered as 409 must not commit half a request, nor roll back the event that records it: gates begin
# and commit by themselves.
DATABASES["default"]["ATOMIC_REQUESTS"] = False
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
# A pooler that gives every transaction another session keeps neither cursors nor prepared statements in between.
DATABASES["default"]["DISABLE_SERVER_SIDE_CURSORS"] = read_flag(os.environ, "WORKBENCH_POOLER")
DATABASES["default"]["OPTIONS"].setdefault("application_name", "workbench")
if POOL:
    DATABASES["default"]["OPTIONS"]["pool"] = {
        "min_size": 1,
        "max_size": POOL,
        "timeout": 10,
        "check": check_if_it_spoke,
    }

# People

AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "guardian.backends.ObjectPermissionBackend",
]
ANONYMOUS_USER_NAME = None
GUARDIAN_RAISE_403 = False
GUARDIAN_MONKEY_PATCH_USER = False
GUARDIAN_MONKEY_PATCH_GROUP = False
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "account_login"

# Logging in: tries are counted in the database, because every process of the workbench must count the same.

CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "workbench_cache",
        # Beyond this, entries are thrown away, and with them counts; those that ran out go first.
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    }
}
ALLAUTH_TRUSTED_PROXY_COUNT = (
    1 if HTTPS else 0
)  # the last X-Forwarded-For is our proxy's; without one, none is
ACCOUNT_ADAPTER = "workbench.accounts.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*"]
ACCOUNT_SIGNUP_ENABLED = False
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_EMAIL_NOTIFICATIONS = False
ACCOUNT_SESSION_REMEMBER = True  # as long as SESSION_COOKIE_AGE says
ACCOUNT_REAUTHENTICATION_METHODS = ("password", "mfa")
ACCOUNT_REAUTHENTICATION_TIMEOUT = 300  # seconds; of changes to the second factor
ACCOUNT_RATE_LIMITS = {
    "login": "60/m/ip",
    "login_failed": "20/5m/ip,5/5m/key",  # also of passwords and codes asked for once more
    "reauthenticate": "10/m/user",
    "change_password": "5/m/user",
    "worksheet": "120/m/ip",  # texts made of worksheets, for whoever asks
}
MFA_ADAPTER = "workbench.second_factor.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_ALLOW_UNVERIFIED_EMAIL = True  # nobody's mail address is ever verified here
MFA_PASSKEY_LOGIN_ENABLED = False  # a passkey comes after the password, never instead of it
MFA_PASSKEY_SIGNUP_ENABLED = False
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = False  # https, or http://localhost, which browsers trust as well
MFA_TRUST_ENABLED = False
MFA_TOTP_TOLERANCE = 1  # steps of 30 seconds that a clock may be off
MFA_RECOVERY_CODES_SHOW_ONCE = True

# Where the workbench itself writes, for tools that leave it to the single write proxy

WORKBENCH_PROXY = read_proxy(os.environ)

# How long one statement of a request may run. Whoever would change the owner waits until a write through the proxy
# has ended, so a shorter limit would end what is in order.

_PROXY_SECONDS = int(WORKBENCH_PROXY.seconds)
STATEMENT_SECONDS = read_whole(
    os.environ, "WORKBENCH_STATEMENT_SECONDS", max(60, _PROXY_SECONDS + 30), minimum=0, maximum=3600
)
if 0 < STATEMENT_SECONDS <= _PROXY_SECONDS:
    raise EnvironmentRefused(
        "WORKBENCH_STATEMENT_SECONDS must be 0 or more than WORKBENCH_PROXY_SECONDS, which is a wait that is in order."
    )

# What people start from a page is carried out by `manage.py run_drills`; its tasks are in one place

PROCRASTINATE_AUTODISCOVER_MODULE_NAME = None
PROCRASTINATE_IMPORT_PATHS = ["contracts.drills.queue"]

# Drills start and kill processes of their own, and make contracts of their own: allowed by itself only where
# nobody but this machine can reach the workbench.

WORKBENCH_DRILLS = read_flag(
    os.environ, "WORKBENCH_DRILLS", default=not HTTPS and not read_hosts(os.environ, "WORKBENCH_HOSTS")
)

# Languages and time

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LANGUAGE_COOKIE_NAME = "workbench_language"
LANGUAGE_COOKIE_AGE = 365 * 24 * 60 * 60
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_SECURE = HTTPS
LOCALE_PATHS = [BASE_DIR / "contracts" / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = read_time_zone(os.environ, "WORKBENCH_TIME_ZONE")

# Browsers

SECURE_CSP = {
    "default-src": [CSP.NONE],
    "script-src": [CSP.SELF, CSP.NONCE],
    "style-src": [CSP.SELF],
    "img-src": [CSP.SELF, "data:"],
    "font-src": [CSP.SELF],
    "connect-src": [CSP.SELF],
    "form-action": [CSP.SELF],
    "frame-ancestors": [CSP.NONE],
    "base-uri": [CSP.NONE],
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_NAME = "workbench_session"
SESSION_COOKIE_AGE = 12 * 60 * 60
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_NAME = "workbench_csrf"
CSRF_COOKIE_HTTPONLY = True  # htmx takes the token from the page, not from the cookie
CSRF_COOKIE_SECURE = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^(livez|healthz|readyz|metrics)$"]  # asked on this machine, past the proxy
if HTTPS:
    # A proxy ends TLS in front of us and sets this header; README says that it must also remove a client's own.
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = True
    SECURE_HSTS_SECONDS = 365 * 24 * 60 * 60
# Subdomains and the preload list are for whoever owns the whole domain to decide, not for one host of it.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]

# Bytes and fields of one request

DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 5000
DATA_UPLOAD_MAX_NUMBER_FILES = 10
FILE_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
FILE_UPLOAD_PERMISSIONS = 0o600

# Static files

STATIC_URL = "/static/"
STATIC_ROOT = WORKBENCH_DATA / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},  # nothing is ever stored as a file
    "staticfiles": {"BACKEND": "workbench.static.StaticFiles"},
}

# Mail and logs

MAILERS: dict[str, Any] = {"default": read_mailer(os.environ, "WORKBENCH_SMTP")}
DEFAULT_FROM_EMAIL = read_mail_address(os.environ, "WORKBENCH_MAIL_FROM", "workbench@localhost")
if os.environ.get("WORKBENCH_SMTP", "").strip() and not os.environ.get("WORKBENCH_MAIL_FROM", "").strip():
    raise EnvironmentRefused("WORKBENCH_MAIL_FROM must be set where WORKBENCH_SMTP is.")
WORKBENCH_ADDRESS = read_address(os.environ, "WORKBENCH_ADDRESS", "http://localhost:8000")
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {
            "()": "workbench.logs.ReticentFormatter",
            "format": "{asctime} {levelname} {name}: {message}",
            "style": "{",
        },
        "json": {"()": "workbench.logs.JsonLines", "json_ensure_ascii": False},
    },
    "filters": {"refusals": {"()": "workbench.logs.Refusals"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": LOG, "filters": ["refusals"]}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        # In JSON each request has its line anyway; plain lines are for somebody at a terminal, who wants none.
        "django.request": {"level": "ERROR" if LOG == "json" else "INFO"},
        "workbench.observing.requests": {"level": "INFO" if LOG == "json" else "WARNING"},
        # The server's own, which it would print as it likes.
        "_granian": {"handlers": [], "level": "ERROR", "propagate": True},
        "httpx": {"level": "WARNING"},
        "procrastinate": {"level": "WARNING"},
    },
}
