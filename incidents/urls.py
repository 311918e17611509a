"""The pages of incidents and of memory."""

from django.urls import path

from incidents.views import acts, attempts, bulk, find, fixes, help, inbox, incidents, investigations, memory, where

_INCIDENT = "incidents/<str:key>-<int:number>/"

urlpatterns = [
    path("incidents/", inbox.incident_list, name="incident_list"),
    path("incidents/news/", inbox.incident_news, name="incident_news"),
    path("incidents/bulk/", bulk.incident_bulk, name="incident_bulk"),
    path("incidents/bulk/undo/", bulk.incident_bulk_undo, name="incident_bulk_undo"),
    path("incidents/first-steps/dismiss/", inbox.first_steps_dismiss, name="first_steps_dismiss"),
    path("incidents/new/", incidents.incident_new, name="incident_new"),
    path(_INCIDENT, incidents.incident_detail, name="incident_detail"),
    path(_INCIDENT + "live/", incidents.incident_live, name="incident_live"),
    path(_INCIDENT + "saved/", incidents.incident_saved, name="incident_saved"),
    path(_INCIDENT + "summary/", incidents.incident_summary, name="incident_summary"),
    path(_INCIDENT + "delivery/<uuid:delivery>/", incidents.delivery_body, name="delivery_body"),
    path(_INCIDENT + "acknowledge/", acts.incident_acknowledge, name="incident_acknowledge"),
    path(_INCIDENT + "assign/", acts.incident_assign, name="incident_assign"),
    path(_INCIDENT + "bring-in/", acts.incident_bring_in, name="incident_bring_in"),
    path(_INCIDENT + "severity/", acts.incident_severity, name="incident_severity"),
    path(_INCIDENT + "correct/", where.incident_correct, name="incident_correct"),
    path(_INCIDENT + "move/", where.incident_move, name="incident_move"),
    path(_INCIDENT + "note/", acts.note_add, name="note_add"),
    path(_INCIDENT + "system-text/", acts.system_text_add, name="system_text_add"),
    path(_INCIDENT + "close/", acts.incident_close, name="incident_close"),
    path(_INCIDENT + "reopen/", acts.incident_reopen, name="incident_reopen"),
    path(_INCIDENT + "outcome/", acts.outcome_record, name="outcome_record"),
    path(_INCIDENT + "attempt/", attempts.attempt_record, name="attempt_record"),
    path(_INCIDENT + "attempts/<uuid:attempt>/", attempts.attempt_correct, name="attempt_correct"),
    path(_INCIDENT + "feedback/", acts.feedback_save, name="feedback_save"),
    path(_INCIDENT + "investigate/", investigations.investigation_start, name="investigation_start"),
    path(_INCIDENT + "answer/", investigations.investigation_answer, name="investigation_answer"),
    path(_INCIDENT + "cancel/", investigations.investigation_cancel, name="investigation_cancel"),
    path(_INCIDENT + "sent/<uuid:step>/", investigations.step_sent, name="step_sent"),
    path("find/", find.find, name="find"),
    path("find/results/", find.find_results, name="find_results"),
    path("help/", help.help_page, name="help"),
    path("fixes/", fixes.fix_list, name="fix_list"),
    path("fixes/<uuid:fix>/", fixes.fix_detail, name="fix_detail"),
    path("fixes/<uuid:fix>/change/", fixes.fix_change, name="fix_change"),
    path("fixes/<uuid:fix>/merge/", fixes.fix_merge, name="fix_merge"),
    path("fixes/<uuid:fix>/take-apart/", fixes.fix_take_apart, name="fix_take_apart"),
    path("memory/", memory.memory_list, name="memory_list"),
    path("memory/<uuid:record>/", memory.memory_detail, name="memory_detail"),
    path("memory/<uuid:record>/forget/", memory.memory_forget, name="memory_forget"),
]
