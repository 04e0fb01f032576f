// Which fields of which events are kept. Written from runs/rules/kept.py by `make kept-js`: change it there.
// A field that is not listed does not exist; the word beside a field says how footprint-filter.js reads it.

export const LIMITS = {"nameUnits": 256, "stageUnits": 500, "labelChars": 2000, "textBytes": 32768, "longestMs": 315360000000, "clockFromMs": 946684800000, "clockToMs": 7258118400000};

export const META = {
  "runId": "opt_name",
  "sessionId": "opt_name",
  "principal": "opt_name",
  "tenant": "opt_name",
  "traceId": "opt_name",
  "wallClockMs": "clock",
  "runOffsetMs": "millis",
  "runtimeStageId": "opt_name",
  "compositionPath": "names",
};

export const EVENTS = {
  "agentfootprint.agent.run_configured": {"agentId": "opt_name", "llm": {"struct": {"provider": "opt_name", "model": "opt_name"}}},
  "agentfootprint.agent.turn_start": {"userPrompt": "text"},
  "agentfootprint.agent.turn_end": {"finalContent": "text", "totalInputTokens": "opt_count", "totalOutputTokens": "opt_count", "iterationCount": "opt_count", "durationMs": "millis", "stoppedEarly": {"struct": {"reason": "word", "iteration": "opt_count", "pendingToolCalls": "opt_count", "wrappedUp": "flag"}}, "refused": {"struct": {"by": "opt_name"}}},
  "agentfootprint.agent.iteration_start": {"iterIndex": "opt_count"},
  "agentfootprint.agent.iteration_end": {"iterIndex": "opt_count", "toolCallCount": "opt_count"},
  "agentfootprint.agent.budget_exhausted": {"reason": "word", "action": "word", "iteration": "opt_count", "limit": "opt_count", "pendingToolCalls": "opt_count"},
  "agentfootprint.agent.evidence_checked": {"iteration": "opt_count", "posture": "word", "action": "word", "candidates": "opt_count", "unsupported": "length", "afterRevision": "flag"},
  "agentfootprint.agent.output_contract_unmet": {},
  "agentfootprint.resilience.output_fallback_triggered": {},
  "agentfootprint.resilience.output_canned_used": {},
  "agentfootprint.stream.llm_start": {"iteration": "opt_count", "provider": "opt_name", "model": "opt_name", "messagesCount": "opt_count", "toolsCount": "opt_count", "tools": {"structs": {"name": "name", "description": "label"}}, "brain": {"struct": {"skillId": "opt_name"}}},
  "agentfootprint.stream.llm_end": {"toolCallCount": "count", "iteration": "opt_count", "usage": {"struct": {"input": "opt_count", "output": "opt_count", "cacheRead": "opt_count", "cacheWrite": "opt_count", "thinking": "opt_count"}}, "stopReason": "word", "durationMs": "millis"},
  "agentfootprint.stream.tool_start": {"toolName": "name", "toolCallId": "name", "parallelCount": "opt_count", "notDispatched": "presence"},
  "agentfootprint.stream.tool_end": {"toolCallId": "name", "error": "flag", "status": "word", "notExecuted": "flag", "notDispatched": "presence", "durationMs": "millis"},
  "agentfootprint.validation.args_invalid": {"toolCallId": "name", "toolName": "opt_name", "iteration": "opt_count", "enforced": "flag", "issues": "length", "sizeChars": "opt_count", "maxChars": "opt_count", "checked": "length", "notChecked": "length", "cannotCover": "length"},
  "agentfootprint.tools.result_refused": {"toolCallId": "name", "toolName": "opt_name", "iteration": "opt_count", "enforced": "flag", "issues": "length", "sizeChars": "opt_count", "maxChars": "opt_count", "checked": "length", "notChecked": "length", "cannotCover": "length"},
  "agentfootprint.tools.absent": {"toolCallId": "name", "toolName": "opt_name", "iteration": "opt_count", "enforced": "flag", "issues": "length", "sizeChars": "opt_count", "maxChars": "opt_count", "checked": "length", "notChecked": "length", "cannotCover": "length"},
  "agentfootprint.tools.coverage_declared": {"toolCallId": "name", "toolName": "opt_name", "iteration": "opt_count", "enforced": "flag", "issues": "length", "sizeChars": "opt_count", "maxChars": "opt_count", "checked": "length", "notChecked": "length", "cannotCover": "length"},
  "agentfootprint.permission.check": {"result": "word", "capability": "word", "target": "opt_name"},
  "agentfootprint.permission.halt": {"target": "opt_name", "iteration": "opt_count"},
  "agentfootprint.middleware.decision": {"moment": "word", "outcome": "word", "toolCallId": "opt_name", "toolName": "opt_name", "iteration": "opt_count"},
  "agentfootprint.checkin.request": {"toolCallId": "name", "toolName": "opt_name", "iteration": "opt_count"},
  "agentfootprint.checkin.decision": {"toolCallId": "name", "approved": "flag", "toolName": "opt_name", "iteration": "opt_count"},
  "agentfootprint.pause.request": {"questionPayload": {"struct": {"toolCallId": "opt_name", "toolName": "opt_name", "checkIn": "presence", "ask": "presence", "authorization": "presence"}}},
  "agentfootprint.pause.resume": {"pausedDurationMs": "millis"},
  "agentfootprint.skill.rejected": {"requestedId": "opt_name"},
  "agentfootprint.tool_choice.picked": {"iteration": "opt_count", "chosen": "opt_name", "confidence": "number", "offered": "opt_count", "served": "opt_count", "narrowed": "flag", "narrowedSkipped": "word", "latencyMs": "millis", "inputTokens": "opt_count", "outputTokens": "opt_count"},
  "agentfootprint.tool_choice.failed": {"iteration": "opt_count", "status": "opt_count", "latencyMs": "millis"},
  "agentfootprint.tool_choice.outcome": {"iteration": "opt_count", "called": "names", "firstAgrees": "plain", "missed": "opt_names"},
  "agentfootprint.error.fatal": {"stage": "word", "scope": "word", "phase": "word", "kind": "word", "action": "word", "errorKind": "word", "attempt": "opt_count", "maxAttempts": "opt_count"},
  "agentfootprint.error.retried": {"stage": "word", "scope": "word", "phase": "word", "kind": "word", "action": "word", "errorKind": "word", "attempt": "opt_count", "maxAttempts": "opt_count"},
  "agentfootprint.reliability.retried": {"stage": "word", "scope": "word", "phase": "word", "kind": "word", "action": "word", "errorKind": "word", "attempt": "opt_count", "maxAttempts": "opt_count"},
  "agentfootprint.reliability.recovered": {"stage": "word", "scope": "word", "phase": "word", "kind": "word", "action": "word", "errorKind": "word", "attempt": "opt_count", "maxAttempts": "opt_count"},
  "agentfootprint.reliability.fail_fast": {"stage": "word", "scope": "word", "phase": "word", "kind": "word", "action": "word", "errorKind": "word", "attempt": "opt_count", "maxAttempts": "opt_count"},
  "agentfootprint.composition.enter": {"kind": "word", "id": "opt_name", "name": "opt_name", "status": "word", "childCount": "opt_count"},
  "agentfootprint.composition.exit": {"kind": "word", "id": "opt_name", "name": "opt_name", "status": "word", "childCount": "opt_count"},
  "agentfootprint.composition.route_decided": {"conditionalId": "opt_name", "chosen": "opt_name"},
  "agentfootprint.integrity.disposition": {},
  "footprint.tools.declared": {"tools": {"structs": {"name": "name", "displayName": "declared", "displayNameProblem": "opt_name", "description": "label"}}},
  "footprint.tool_choice.row": {"kind": "word", "iteration": "count", "source": "word", "classifier": {"struct": {"name": "opt_name", "model": "opt_name"}}, "offered": "opt_names", "ranked": {"structs": {"name": "name", "score": "number"}}, "chosen": "opt_name", "confidence": "number", "usage": {"struct": {"inputTokens": "opt_count", "outputTokens": "opt_count"}}, "latencyMs": "millis", "served": "opt_names", "narrowed": "flag", "narrowedSkipped": "word", "status": "opt_count", "message": "text", "called": "opt_names", "firstAgrees": "plain", "miss": {"struct": {"wanted": "names"}}, "top": "opt_count", "doors": "opt_names", "wire": "opt_names"},
  "footprint.delegation.declared": {"toolName": "name", "hasFactory": "flag", "staticPool": {"structs": {"name": "name", "aliases": "opt_names", "contentOrigin": "word"}}, "inheritedSurface": {"structs": {"name": "name", "aliases": "opt_names", "contentOrigin": "word"}}, "extraToolNames": "roster", "rosterReason": "word", "rosterSentence": "opt_name"},
  "footprint.delegation.spawned": {"toolName": "name", "products": {"structs": {"name": "name", "aliases": "opt_names", "contentOrigin": "word"}}, "toolCallId": "opt_name", "childRunId": "opt_name", "deniedTools": "opt_names"},
  "footprint.delegation.refused": {"toolName": "name", "toolCallId": "opt_name", "code": "word", "reason": "word"},
  "footprint.answer.checked": {"toolCalls": {"struct": {"calls": {"structs": {"toolName": "name", "toolCallId": "name", "outcome": "word"}}, "incomplete": "flag"}}},
};

// The closed words of a `word` field; everything else is "other".
export const WORDS = {
  "status": ["absent", "break", "budget_exhausted", "denied", "err", "failure", "invalid", "ok", "partial", "pending", "success"],
  "reason": ["cost-budget", "cost_budget", "max-iterations", "max_iterations", "shape", "undeclared_name", "undeclared_origin"],
  "action": ["abort", "continue", "cut-short", "degrade", "fail-fast", "fail_fast", "fallback", "flagged", "grounded", "refused", "retry", "retry-other", "revision-asked", "warn", "wrapped-up"],
  "stopReason": ["content_filter", "end_turn", "error", "length", "max_tokens", "refusal", "stop", "stop_sequence", "tool_calls", "tool_use"],
  "result": ["allow", "deny", "gate_open", "halt"],
  "capability": ["external_net", "memory_read", "memory_write", "skill_read", "tool_call", "user_data"],
  "moment": ["after-tool", "before-tool", "input", "output", "window"],
  "outcome": ["allow", "ask", "deny", "error", "not-run", "ok"],
  "kind": ["Conditional", "Loop", "Parallel", "Sequence", "ask", "authorization", "check-in", "outcome", "pick", "pick-error", "schema-fail", "schema-stuck-loop"],
  "stage": ["__root__", "json-parse", "schema-validate"],
  "scope": ["run"],
  "posture": ["assist", "guard", "observe", "rails"],
  "narrowedSkipped": ["after-miss", "too-few", "unavailable", "wrap-up"],
  "errorKind": ["auth", "http-4xx", "http-5xx", "network", "rate-limit", "schema-fail", "timeout", "unknown"],
  "phase": ["input", "output", "post-decide", "pre-check", "window"],
  "contentOrigin": ["external", "internal", "workspace"],
  "source": ["classifier"],
  "code": ["config.extra_tool_names"],
  "rosterReason": ["shape"],
};

export const CONTENT_CLASSES = ["internal", "workspace", "external"];

// The tools that are always served, whatever a narrowing leaves out.
export const ALWAYS_SERVED = ["read_skill", "list_skills", "skip_step", "present"];
