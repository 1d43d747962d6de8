"""Who may see a page, and what becomes of the app's errors on it."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import resolve_url
from django.utils.cache import add_never_cache_headers, patch_vary_headers
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails

from dms_project.tenancy import PUBLIC, current
from documents import exceptions
from documents.pages import errors
from documents.roles import Role, role_of

logger = logging.getLogger(__name__)

P = ParamSpec("P")


class PageRequest(HttpRequest):
    """A request that has come through the guard: of a tenant's user, who is signed in."""

    user: User
    role: Role
    htmx: HtmxDetails


View = Callable[Concatenate[PageRequest, P], HttpResponseBase]


def page(view: View[P]) -> Callable[Concatenate[Any, P], HttpResponseBase]:
    """Serve a view to signed-in users of a tenant only, uncached, its errors as pages. Readers change nothing.

    The operators' schema has no documents, so at their host the page doesn't exist.
    """

    return _guarded(view, _answer)


def own(view: View[P]) -> Callable[Concatenate[Any, P], HttpResponseBase]:
    """Serve a view as ``page`` does, that changes nothing but what is the user's own: readers may do so, too."""
    return _guarded(view, _answer_all)


def _guarded(view: View[P], answer: Callable[..., HttpResponseBase]) -> Callable[Concatenate[Any, P], HttpResponseBase]:
    @wraps(view)
    def guarded(request: Any, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if current() == PUBLIC:
            return errors.not_found(request)
        response = answer(view, request, *args, **kwargs) if request.user.is_authenticated else _to_login(request)
        if not response.has_header("Cache-Control"):
            add_never_cache_headers(response)  # after logging out, the back button shows nothing
        patch_vary_headers(response, ["HX-Request"])
        return response

    return guarded


def _answer(view: View[P], request: PageRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
    if request.method not in ("GET", "HEAD") and not role_of(request.user).can_edit:
        return errors.forbidden(request)
    return _answer_all(view, request, *args, **kwargs)


def _answer_all(view: View[P], request: PageRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
    try:
        request.role = role_of(request.user)
        return view(request, *args, **kwargs)
    except exceptions.NotAllowed:
        return errors.forbidden(request)
    except (
        exceptions.DocumentNotFound,
        exceptions.ArchiveNotFound,
        exceptions.SearchNotFound,
        exceptions.LabelNotFound,
    ):
        return errors.not_found(request)
    except (exceptions.ObjectMissing, exceptions.ObjectDamaged) as error:
        logger.error("410 %s %s: %s", request.method, request.path, error)
        return errors.gone(request)
    except exceptions.StorageUnavailable as error:
        logger.error("503 %s %s: %s", request.method, request.path, error)
        return errors.unavailable(request)


def _to_login(request: PageRequest) -> HttpResponseBase:
    """Lead to the login and from there back: a whole page, also where htmx asked for a part of one."""
    if request.htmx:
        back = request.htmx.current_url_abs_path or "/"
        return HttpResponseClientRedirect(redirect_to_login(back).url)
    if request.method == "GET":
        return redirect_to_login(request.get_full_path())
    return redirect_to_login(resolve_url(settings.LOGIN_REDIRECT_URL))
