"""Django's admin, for people who look after a project.

Superusers look after every project. Staff see the projects whose admin they are and nothing of any other, not even that
it exists: what is not theirs is not in a list, not in a choice, and 404 by its address. What is set here goes the same
way as in the app's own forms: the same rules, the same bump of the words version, the same ring.
"""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from runs.announce import Changed, ring_from_sync
from runs.models import DisplayName, Membership, Project, Role, Token
from runs.rules.display_name import ecma_trim
from runs.store import forget, names, project_settings, tokens
from runs.store.words import name_problem, registered_names


def projects_of(request: HttpRequest) -> QuerySet[Project]:
    """The projects the person may look after here."""
    user = request.user
    if user.is_superuser:
        return Project.objects.all()
    if not user.is_active or user.pk is None:
        return Project.objects.none()
    return Project.objects.filter(membership__user=user.pk, membership__role=Role.ADMIN)


def ring(project: Project) -> None:
    """Every open page of the project looks again, once this is committed."""
    changed = Changed(project.pk, project.epoch, 0, words=True, people=True)
    transaction.on_commit(lambda: ring_from_sync(changed))


class OfMyProjects(admin.ModelAdmin):
    """Rows of the projects a person looks after. `project_path` leads from the row to its project."""

    project_path = "project"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        mine = projects_of(request).values("pk")
        return super().get_queryset(request).filter(**{f"{self.project_path}__in": mine})

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.remote_field.model is Project:
            kwargs["queryset"] = projects_of(request)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def _is_mine(self, request: HttpRequest, row: Model | None) -> bool:
        mine = projects_of(request)
        if row is None:
            return mine.exists()
        return mine.filter(pk=row.pk if isinstance(row, Project) else row.project_id).exists()  # type: ignore[attr-defined]

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self._is_mine(request, None)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self._is_mine(request, obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self._is_mine(request, None)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self._is_mine(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self._is_mine(request, obj)


class MembershipForm(forms.ModelForm):
    """A member by the name they log in with: no list of everybody is shown to an admin of one project."""

    person = forms.CharField(label="Log-in name", max_length=150)

    class Meta:
        model = Membership
        fields = ["role"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is not None:
            self.initial["person"] = self.instance.user.get_username()
            self.fields["person"].disabled = True

    def clean_person(self) -> str:
        name = self.cleaned_data["person"]
        if self.instance.pk is None:
            user = User.objects.filter(username=name, is_active=True).first()
            if user is None:
                raise forms.ValidationError("Nobody logs in with this name.")
            if Membership.objects.filter(project=self.instance.project_id, user=user).exists():
                raise forms.ValidationError("This person is a member already.")
            self.instance.user = user
        return name


class MembershipFormSet(forms.BaseInlineFormSet):
    def clean(self) -> None:
        super().clean()
        told = [form.cleaned_data for form in self.forms if getattr(form, "cleaned_data", None)]
        names = [row["person"] for row in told if "person" in row and not row.get("DELETE")]
        if len(names) != len(set(names)):
            raise forms.ValidationError("One person stands in two rows.")


class MembershipInline(admin.TabularInline):
    model = Membership
    form = MembershipForm
    formset = MembershipFormSet
    extra = 1
    verbose_name = "member"
    verbose_name_plural = "members"

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return obj is None or projects_of(request).filter(pk=obj.pk).exists()

    has_add_permission = has_change_permission = has_delete_permission = has_view_permission


class ProjectForm(forms.ModelForm):
    class Meta:
        model = Project
        fields = [
            "name",
            "keep_text",
            "silent_after_s",
            "ledger_limit",
            "events_per_day",
            "time_zone",
            "allowed_origins",
        ]

    def clean(self) -> dict[str, Any]:
        told = super().clean() or {}
        typed = project_settings.ProjectSettings(
            name=told.get("name", ""),
            keep_text=told.get("keep_text", False),
            silent_after_s=told.get("silent_after_s") or 0,
            time_zone=told.get("time_zone", ""),
            allowed_origins=told.get("allowed_origins", ""),
            events_per_day=told.get("events_per_day"),
        )
        for field, problem in project_settings.problems_of(typed).items():
            if field not in self.errors:
                self.add_error(field, problem)
        return told


@admin.register(Project)
class ProjectAdmin(OfMyProjects):
    project_path = "pk"
    form = ProjectForm
    list_display = ["name", "key", "keep_text", "created_at"]
    readonly_fields = ["key", "created_at"]
    inlines = [MembershipInline]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return request.user.is_superuser

    def save_model(self, request: HttpRequest, obj: Project, form: Any, change: bool) -> None:
        """Only what the form holds is written: the counters on this row belong to the writer."""
        if not change:
            super().save_model(request, obj, form, change)
            return
        Project.objects.select_for_update().get(pk=obj.pk)
        obj.save(update_fields=form.Meta.fields)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        project_settings.read_again(form.instance.pk)
        ring(form.instance)

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """Only the projects: Django would list every event of theirs."""
        deleted = [
            f"Project: {project}, with every run, text, name, token and membership of it" for project in objs
        ]
        return deleted, {"projects": len(deleted)}, set(), []

    def delete_model(self, request: HttpRequest, obj: Project) -> None:
        ring(obj)
        forget.delete_project(obj.pk)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Project]) -> None:
        for project in queryset:
            self.delete_model(request, project)


@admin.register(Token)
class TokenAdmin(OfMyProjects):
    """Tokens are revoked here, and given limits of their own. They are made on the Connect page, which shows the secret
    once and keeps it nowhere."""

    list_display = ["hint", "label", "project", "created_by", "created_at", "last_used_at", "revoked_at"]
    list_filter = ["revoked_at"]
    limits = ["connections", "events_per_s", "bytes_per_s"]
    fields = [*list_display, *limits]
    readonly_fields = list_display
    actions = ["revoke"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Token, form: Any, change: bool) -> None:
        """Only the limits: a token that is revoked meanwhile stays so."""
        obj.save(update_fields=self.limits)

    @admin.action(description="Revoke the chosen tokens", permissions=["view"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[Token]) -> None:
        for token in queryset:
            tokens.revoke_token(token.project_id, token.pk)
        messages.success(request, "Revoked. Whoever sends with them is disconnected.")


class DisplayNameForm(forms.ModelForm):
    class Meta:
        model = DisplayName
        fields = ["project", "tool", "text"]

    # Without a length of its own: the rule answers for it, and counts the trimmed text.
    text = forms.CharField(
        required=False, strip=False, help_text="Left empty, the words the app declared are used again."
    )

    def clean(self) -> dict[str, Any]:
        told = super().clean() or {}
        project, text = told.get("project"), told.get("text", "")
        if project is not None and ecma_trim(text):
            problem = name_problem(text, registered_names(project.pk, project.epoch))
            if problem is not None:
                self.add_error("text", problem)
        return told


@admin.register(DisplayName)
class DisplayNameAdmin(OfMyProjects):
    """What was set, by whom and when. A new row takes the place of the last one; none is changed or taken away."""

    form = DisplayNameForm
    list_display = ["tool", "words", "project", "set_by", "set_at"]
    search_fields = ["tool", "text"]
    ordering = ["-id"]

    @admin.display(description="words")
    def words(self, row: DisplayName) -> str:
        return str(row)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: DisplayName, form: Any, change: bool) -> None:
        names.set_display_name(obj.project_id, obj.tool, obj.text, request.user)
        latest = DisplayName.objects.filter(project=obj.project_id, tool=obj.tool).order_by("-pk").first()
        if latest is None:  # cleared where nothing was set
            obj.set_by = request.user
            super().save_model(request, obj, form, change)
            return
        obj.pk = latest.pk
        obj.refresh_from_db()
        ring(obj.project)
