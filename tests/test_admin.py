"""Django's admin: superusers look after everything, staff after the projects whose admin they are."""

import pytest
from django.contrib.auth.models import User

from runs import models as m
from runs.store.tokens import create_token, find_token
from runs.store.words import read_words
from tests.people import *  # noqa: F403
from tests.sample import *  # noqa: F403

OURS = ("project", "token", "displayname")


@pytest.fixture
def staff(people):
    """Everybody may enter Django's admin; what they see there is another matter."""
    User.objects.update(is_staff=True)
    create_token(people.northwind.pk, "northwind's", people.ada)
    create_token(people.elsewhere.pk, "elsewhere's", people.sam)
    for project in (people.northwind, people.elsewhere):
        m.DisplayName.objects.create(project=project, tool=f"tool_of_{project.name}", text="Do it")
    return people


def listed(browser, model):
    return browser.get(f"/admin/runs/{model}/").content.decode()


@pytest.mark.parametrize("model", OURS)
def test_an_admin_sees_their_own_project_only(staff, model):
    page = listed(staff.browser("ada"), model)
    assert "Northwind" in page
    assert "Elsewhere" not in page
    assert "Elsewhere" in listed(staff.browser("root"), model)


@pytest.mark.parametrize("model", OURS)
@pytest.mark.parametrize("name", ["omar", "rhea"])
def test_who_is_no_admin_of_a_project_sees_nothing(staff, model, name):
    response = staff.browser(name).get(f"/admin/runs/{model}/")
    assert response.status_code == 403
    assert "Northwind" not in response.content.decode()
    assert "/admin/runs/" not in staff.browser(name).get("/admin/").content.decode()


def test_an_admin_who_is_not_staff_does_not_enter(people):
    assert people.browser("ada").get("/admin/runs/project/").status_code == 302


@pytest.mark.parametrize("place", ["change/", "delete/", "history/"])
def test_another_project_is_not_there(staff, place):
    response = staff.browser("ada").get(f"/admin/runs/project/{staff.elsewhere.pk}/{place}")
    assert response.status_code in (302, 403, 404)  # 302: Django's own "does not exist"
    assert "Elsewhere" not in response.content.decode()


def test_a_secret_is_nowhere(staff):
    _, secret = create_token(staff.northwind.pk, "new", staff.ada)
    token = m.Token.objects.latest("pk")
    for browser in (staff.browser("ada"), staff.browser("root")):
        for address in ("/admin/runs/token/", f"/admin/runs/token/{token.pk}/change/"):
            page = browser.get(address).content.decode()
            assert secret not in page
            assert token.digest not in page


def test_a_token_is_given_limits_of_its_own_and_nothing_else(staff):
    row, secret = create_token(staff.northwind.pk, "new", staff.ada)
    ada, address = staff.browser("ada"), f"/admin/runs/token/{row.id}/change/"
    told = {"connections": "5", "events_per_s": "100", "label": "other", "revoked_at_0": "2026-01-01"}
    assert ada.post(address, told).status_code == 302
    now = find_token(secret)
    assert (now.connections, now.events_per_s, now.bytes_per_s, now.label) == (5, 100, None, "new")
    assert ada.post(address, {**told, "connections": "0"}).status_code == 200  # with what is wrong
    assert find_token(secret).connections == 5
    assert staff.browser("sam").post(address, told).status_code in (302, 404)
    assert m.Token.objects.get(pk=row.id).connections == 5


def test_tokens_are_revoked_and_never_changed(staff):
    row, secret = create_token(staff.northwind.pk, "new", staff.ada)
    foreign = m.Token.objects.get(label="elsewhere's")
    ada = staff.browser("ada")
    ada.post("/admin/runs/token/", {"action": "revoke", "_selected_action": [row.id, foreign.pk]})
    assert find_token(secret) is None
    foreign.refresh_from_db()
    assert foreign.revoked_at is None
    assert ada.get("/admin/runs/token/add/").status_code == 403
    assert ada.post(f"/admin/runs/token/{row.id}/delete/", {"post": "yes"}).status_code == 403


def rename(browser, project, tool, text):
    return browser.post("/admin/runs/displayname/add/", {"project": project.pk, "tool": tool, "text": text})


def test_a_name_is_appended_and_every_page_reads_again(staff, django_capture_on_commit_callbacks):
    before = read_words(staff.northwind.pk, 1).version
    with django_capture_on_commit_callbacks(execute=True) as rung:
        assert rename(staff.browser("ada"), staff.northwind, "lookup", "  Look it up ").status_code == 302
        assert rename(staff.browser("ada"), staff.northwind, "lookup", "").status_code == 302
    assert len(rung) == 2
    rows = m.DisplayName.objects.filter(tool="lookup").order_by("pk")
    assert [(row.text, row.set_by.username) for row in rows] == [("Look it up", "ada"), ("", "ada")]
    assert read_words(staff.northwind.pk, 1).version == before + 2
    row = rows[0]
    ada = staff.browser("ada")
    ada.post(f"/admin/runs/displayname/{row.pk}/change/", {"text": "Changed"})
    ada.post(f"/admin/runs/displayname/{row.pk}/delete/", {"post": "yes"})
    assert m.DisplayName.objects.get(pk=row.pk).text == "Look it up"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a\u202eb", "U+202E"),
        ("a" * 61, "at most 60 characters"),
        ("lookup_order_zz", "registered name of a tool"),
    ],
)
def test_a_refused_name_gets_the_rules_sentence(staff, sample, text, says):
    response = rename(staff.browser("ada"), staff.northwind, "lookup_order_zz", text)
    assert response.status_code == 200
    assert says in response.content.decode()
    assert not m.DisplayName.objects.filter(tool="lookup_order_zz").exists()


def test_no_name_is_set_in_another_project(staff):
    response = rename(staff.browser("ada"), staff.elsewhere, "lookup", "Look it up")
    assert response.status_code == 200
    assert not m.DisplayName.objects.filter(tool="lookup").exists()
    assert "Elsewhere" not in response.content.decode()


def project_form(project, **more):
    return {
        "name": project.name, "keep_text": "on", "silent_after_s": "300", "ledger_limit": "10000",
        "time_zone": "Europe/Berlin", "allowed_origins": "",
        "membership_set-TOTAL_FORMS": "0", "membership_set-INITIAL_FORMS": "0",
    } | more  # fmt: skip


def test_a_member_is_invited_by_their_log_in_name(staff):
    ada = staff.browser("ada")
    address = f"/admin/runs/project/{staff.northwind.pk}/change/"
    assert "sam" not in ada.get(address).content.decode()  # no list of everybody
    invited = {
        "membership_set-TOTAL_FORMS": "1", "membership_set-0-person": "sam", "membership_set-0-role": "reader",
        "membership_set-0-project": staff.northwind.pk,
    }  # fmt: skip
    assert ada.post(address, project_form(staff.northwind, **invited)).status_code == 302
    assert m.Membership.objects.get(project=staff.northwind, user=staff.sam).role == "reader"
    nobody = invited | {"membership_set-0-person": "nobody"}
    assert (
        "Nobody logs in with this name"
        in ada.post(address, project_form(staff.northwind, **nobody)).content.decode()
    )
    again = ada.post(address, project_form(staff.northwind, **invited))
    assert "a member already" in again.content.decode()
    m.Membership.objects.filter(user=staff.sam, project=staff.northwind).delete()
    twice = invited | {"membership_set-TOTAL_FORMS": "2"}
    twice |= {key.replace("-0-", "-1-"): value for key, value in invited.items() if "-0-" in key}
    assert "two rows" in ada.post(address, project_form(staff.northwind, **twice)).content.decode()


def test_the_writers_counters_are_not_touched(staff):
    m.Project.objects.filter(pk=staff.northwind.pk).update(position=77, row_number=88)
    before = read_words(staff.northwind.pk, 1).version
    address = f"/admin/runs/project/{staff.northwind.pk}/change/"
    assert (
        staff.browser("ada").post(address, project_form(staff.northwind, name="Renamed")).status_code == 302
    )
    project = m.Project.objects.get(pk=staff.northwind.pk)
    assert (project.name, project.position, project.row_number) == ("Renamed", 77, 88)
    assert project.words_version == before + 1


def test_an_odd_setting_is_refused_in_a_sentence(staff):
    address = f"/admin/runs/project/{staff.northwind.pk}/change/"
    odd = {"time_zone": "Mars/Olympus", "allowed_origins": "https://a.example/path", "silent_after_s": "1"}
    page = staff.browser("ada").post(address, project_form(staff.northwind, **odd)).content.decode()
    assert "The time zone must be one of the list" in page
    assert "Line 1 of the allowed origins" in page
    assert "The silent limit must be from 5" in page


def test_a_deleted_project_is_gone_with_every_row(staff, sample):
    ada = staff.browser("ada")
    address = f"/admin/runs/project/{staff.northwind.pk}/delete/"
    assert "with every run, text, name, token and membership of it" in ada.get(address).content.decode()
    assert ada.post(address, {"post": "yes"}).status_code == 302
    assert list(m.Project.objects.values_list("name", flat=True)) == ["Elsewhere"]
    assert not m.Run.objects.exists()
    assert not m.Text.objects.exists()
    assert ada.get("/admin/runs/project/").status_code == 403


def test_only_a_superuser_makes_a_project(staff):
    assert staff.browser("ada").get("/admin/runs/project/add/").status_code == 403
    assert staff.browser("root").get("/admin/runs/project/add/").status_code == 200
