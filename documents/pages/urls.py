"""URLs of the pages."""

from django.urls import path

from documents.pages import actions, bulk, labels, searches, views

app_name = "documents"

urlpatterns = [
    path("", views.home, name="list"),
    path("trash/", views.trash, name="trashed"),
    path("bulk", bulk.change, name="bulk"),
    path("zip", bulk.download, name="zip"),
    path("labels/", labels.labels, name="labels"),
    path("labels/rename", labels.rename, name="rename_label"),
    path("searches", searches.save, name="save_search"),
    path("searches/<int:search_id>/remove", searches.remove, name="remove_search"),
    path("states", views.states, name="states"),
    path("documents/<uuid:document_id>/", views.document, name="document"),
    path("documents/<uuid:document_id>/download", views.download, name="download"),
    path("documents/<uuid:document_id>/edit", actions.edit, name="edit"),
    path("documents/<uuid:document_id>/notes", actions.add_note, name="add_note"),
    path("documents/<uuid:document_id>/notes/<int:note_id>/remove", actions.remove_note, name="remove_note"),
    path("documents/<uuid:document_id>/archive", views.archive, name="archive"),
    path("documents/<uuid:document_id>/trash", actions.trash, name="trash"),
    path("documents/<uuid:document_id>/restore", actions.restore, name="restore"),
    path("documents/<uuid:document_id>/purge", actions.delete_for_good, name="purge"),
    path("documents/<uuid:document_id>/unlock", actions.unlock, name="unlock"),
    path("documents/<uuid:document_id>/reprocess", actions.reprocess, name="reprocess"),
]
