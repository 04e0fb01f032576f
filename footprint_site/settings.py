"""Every setting, with safe defaults. What differs between machines comes from the environment:

FOOTPRINT_DATA     folder of the database and the secrets (default: data/ beside manage.py)
SECRET_KEY         default: made once, in <data>/secret-key
DATABASE_URL       default: SQLite in <data>/footprint.sqlite3; postgres://... with the extra `scale`
REDIS_URL          default: none, one process; redis://... joins several: serve --processes N (extra `scale`)
FOOTPRINT_REDIS_PREFIX  stands before every channel's name (default: footprint). Two installations that share a
                   Redis need two: what is published there is heard in all its numbered databases
FOOTPRINT_HOSTS    host names this site answers to, with commas (default: this machine's own)
FOOTPRINT_HTTPS    1 when browsers reach the site by https: secure cookies, HSTS, http is sent to https
FOOTPRINT_HSTS_SUBDOMAINS  1: HSTS for every sub-domain too
FOOTPRINT_HSTS_PRELOAD     1: the domain may go on the browsers' preload list
FOOTPRINT_PROXY    1 when a proxy of yours sets X-Forwarded-For and X-Forwarded-Proto
FOOTPRINT_DEBUG    1 for development
FOOTPRINT_LOG      level of the log (default: INFO)
FOOTPRINT_LOG_FORMAT     plain, or json: one JSON object a line (default: plain)
FOOTPRINT_METRICS_TOKEN  what Prometheus shows at /metrics (default: none, and /metrics is for this machine alone)

Limits: FOOTPRINT_FRAME_BYTES and the others of docs/limits.md, under FOOTPRINT and with the log-in below.
"""

import os
import tempfile
from datetime import timedelta
from pathlib import Path

import dj_database_url
from csp.constants import NONE, SELF

from footprint_site import env

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = env.data_folder(BASE_DIR / "data")

DEBUG = env.switch("FOOTPRINT_DEBUG")
SECRET_KEY = os.environ.get("SECRET_KEY") or env.kept_secret(DATA_DIR / "secret-key")
ALLOWED_HOSTS = env.words("FOOTPRINT_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
HTTPS = env.switch("FOOTPRINT_HTTPS")
BEHIND_PROXY = env.switch("FOOTPRINT_PROXY")
METRICS_TOKEN = os.environ.get("FOOTPRINT_METRICS_TOKEN", "")

# -- The doors' limits (docs/wire.md). Sizes in bytes, times in the unit of their name. --

FOOTPRINT = {
    "frame_bytes": env.number("FOOTPRINT_FRAME_BYTES", 8 * 1024 * 1024),
    "event_bytes": env.number("FOOTPRINT_EVENT_BYTES", 4 * 1024 * 1024),
    "window": env.number("FOOTPRINT_WINDOW", 1000),  # events sent and not yet acknowledged
    "bare_bytes": env.number(
        "FOOTPRINT_BARE_BYTES", 64 * 1024 * 1024
    ),  # brought without numbers, not yet stored
    "hello_seconds": env.number("FOOTPRINT_HELLO_SECONDS", 5),
    # Of one token, on one server process; a token may have limits of its own (Django's admin). 0: no limit.
    "token_connections": env.number("FOOTPRINT_TOKEN_CONNECTIONS", 2000),
    "events_per_second": env.number("FOOTPRINT_EVENTS_PER_SECOND", 0),
    "bytes_per_second": env.number("FOOTPRINT_BYTES_PER_SECOND", 0),
    # Connections that have not said who they are: of one address, and in all.
    "waiting_per_address": env.number("FOOTPRINT_WAITING_PER_ADDRESS", 1000),
    "waiting": env.number("FOOTPRINT_WAITING", 2000),
    "ready_seconds": env.number(
        "FOOTPRINT_READY_SECONDS", 15
    ),  # how long the writer may take before the server counts as stuck
    "page_threads": env.number(
        "FOOTPRINT_PAGE_THREADS", 8
    ),  # pages worked on at once, each with a connection
}

# -- Apps and the way of a request --

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "csp",
    "axes",
    "channels",
    "footprint_site",  # for its commands: serve, demo
    "runs",
]

MIDDLEWARE = [
    "footprint_site.what_browsers_keep.WhatBrowsersKeep",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "footprint_site.static_files.StaticFiles",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "footprint_site.database_away.DatabaseAway",
    "axes.middleware.AxesMiddleware",  # last: it answers for a log-in that is closed
]

ROOT_URLCONF = "footprint_site.urls"
ASGI_APPLICATION = "footprint_site.asgi.application"

# templates/ and static/ lie beside manage.py and are not installed: the server runs from a checkout.
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
                "runs.pages.frame.theme",
            ],
        },
    },
]

# Static files are served from where they lie, found once at the start: no collectstatic.
STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_ALLOW_ALL_ORIGINS = False

# -- The database --

DATABASE_URL = os.environ.get("DATABASE_URL") or f"sqlite:///{DATA_DIR / 'footprint.sqlite3'}"
DATABASES = {"default": dj_database_url.parse(DATABASE_URL, conn_max_age=None)}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["OPTIONS"] = {
        # A transaction takes the write lock when it begins, so it never has to give up half-way.
        "transaction_mode": "IMMEDIATE",
        # FULL: an acknowledgement is a promise, also when the machine stops.
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA busy_timeout=10000",
        "timeout": 10,
    }
    # A file also in tests: the writer has a thread and a connection of its own.
    DATABASES["default"]["TEST"] = {
        "NAME": str(Path(tempfile.gettempdir()) / f"footprint-test-{os.getpid()}.sqlite3")
    }
else:
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
    DATABASES["default"]["OPTIONS"] = {
        # A database that vanished without a word is given up within a minute, not after the system's 15.
        "connect_timeout": 10,
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
        "tcp_user_timeout": 30_000,
        # Compiling a page's query takes longer than the query (docs/decisions/011-reading-at-a-million.md).
        # Who waits for a lock says so in the log (as on SQLite); a process that stopped with one gives it back.
        "options": "-c jit=off -c lock_timeout=10s -c idle_in_transaction_session_timeout=60s",
        **DATABASES["default"].get("OPTIONS", {}),
    }

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# -- Channels: one process needs nothing, several need Redis --

if REDIS_URL := os.environ.get("REDIS_URL"):
    CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {
                "hosts": [REDIS_URL],
                "prefix": os.environ.get("FOOTPRINT_REDIS_PREFIX") or "footprint",
            },
        }
    }
else:
    CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}

# -- People --

LOGIN_URL = "log-in"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "log-in"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",  # first: a closed door is closed before any password is looked at
    "django.contrib.auth.backends.ModelBackend",
]
# Failed log-ins close the log-in to their address for a while, whoever they were for: nobody can lock somebody out, and
# a closed door tells nothing about a name. Kept: when, from where and how often; never the name that was typed,
# since people type their password there by mistake. `manage.py axes_reset` opens every door.
AXES_LOCKOUT_PARAMETERS = ["ip_address"]
AXES_FAILURE_LIMIT = env.number("FOOTPRINT_LOG_IN_TRIES", 10)
AXES_COOLOFF_TIME = timedelta(minutes=env.number("FOOTPRINT_LOG_IN_MINUTES", 15))
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False  # trying on does not make it longer
AXES_CLIENT_IP_CALLABLE = "footprint_site.log_in.address_of"
AXES_USERNAME_CALLABLE = "footprint_site.log_in.no_name"
AXES_LOCKOUT_CALLABLE = "footprint_site.log_in.closed_for_a_while"
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

# -- What browsers are told --

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],  # covers the websocket of the same origin
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    }
}
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
if HTTPS:
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    SECURE_HSTS_SECONDS = 365 * 24 * 3600
    # Without the proxy's word every request looks like http, and would be redirected for ever.
    SECURE_SSL_REDIRECT = BEHIND_PROXY
    SECURE_REDIRECT_EXEMPT = [r"^metrics$"]  # asked from inside, past the proxy
    # Only whoever owns the domain knows whether all of it speaks https: both are for them to say.
    SECURE_HSTS_INCLUDE_SUBDOMAINS = env.switch("FOOTPRINT_HSTS_SUBDOMAINS")
    SECURE_HSTS_PRELOAD = env.switch("FOOTPRINT_HSTS_PRELOAD")
    SILENCED_SYSTEM_CHECKS = [
        *([] if SECURE_HSTS_INCLUDE_SUBDOMAINS else ["security.W005"]),
        *([] if SECURE_HSTS_PRELOAD else ["security.W021"]),
    ]
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# -- Time and language: stored in UTC, shown in the project's zone --

USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = False
LANGUAGE_CODE = "en"

# -- The log: what happened and where, never what was said --

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {"()": "footprint_site.log.WithoutContent"},
        "json": {"()": "footprint_site.log.JsonLines"},
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": env.one_of("FOOTPRINT_LOG_FORMAT", ("plain", "json")),
        }
    },
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        "django": {"handlers": ["console"], "level": "WARNING", "propagate": False},
        "django.request": {"level": "ERROR"},  # a 404 is no news
        "channels_redis": {"level": "CRITICAL"},  # a Redis that is away is said once, by footprint.announce
        "footprint": {"level": os.environ.get("FOOTPRINT_LOG") or "INFO"},
    },
}
