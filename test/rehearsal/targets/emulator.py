"""Starts ministack, an emulator of AWS that somebody else wrote, and corrects what differs from AWS.

The text of its modules is changed while Python loads them, and nothing on the disk. Each text must occur
exactly once: another version fails here, and not later, where it would look like a fault of the stack.
"""

import importlib.machinery
import os
import sys

ACTIONS = "ministack.core.iam_actions"
LAMBDA = "ministack.core.lambda_runtime"
FORMATION = "ministack.services.cloudformation.provisioners"
S3 = "ministack.services.s3"
SNS = "ministack.services.sns"
STATES = "ministack.services.stepfunctions"

# The module, the behaviour of AWS, ministack's text, and the text in its place.
CORRECTIONS = [
    ("ministack.app", "a refusal of IAM is in the log, where the rehearsal looks for it",
     "            if denied:\n                if isinstance(denied, AuthError):",
     "            if denied:\n"
     "                print('REFUSED', iam_action, resource_arn, denied, flush=True)\n"
     "                if isinstance(denied, AuthError):"),
    ("ministack.app", "a function's URL may have the path of another service's host",
     '    """Handle Cognito routes that require the parsed request body."""\n',
     '    if _parse_lambda_url(headers.get("host", ""), path):\n        return None\n'),
    (ACTIONS, "an object with a tag needs the permission to tag it",
     '        if action == "PutObject":\n            source = ',
     '        if action == "PutObject" and headers.get("x-amz-tagging"):\n'
     '            checks.append(("s3:PutObjectTagging", key_arn))\n'
     '        if action == "PutObject":\n            source = '),
    (ACTIONS, "a run of a Map is a resource of its own",
     '        arn = _safe_json_field(body, "activityArn")\n',
     '        arn = _safe_json_field(body, "activityArn") or _safe_json_field(body, "mapRunArn")\n'),
    (ACTIONS, "the calls of a log group are for its streams, and the list of groups is for all groups",
     '            return f"arn:aws:logs:{region}:{account_id}:log-group:{name}"\n        return "*"\n',
     '            return f"arn:aws:logs:{region}:{account_id}:log-group:{name}:*"\n'
     '        return f"arn:aws:logs:{region}:{account_id}:log-group::log-stream:"\n'),
    (ACTIONS, "a query belongs to its workgroup",
     '        wg = _safe_json_field(body, "WorkGroup")\n',
     '        from ministack.services import athena\n'
     '        query = athena._executions.get(_safe_json_field(body, "QueryExecutionId") or "") or {}\n'
     '        wg = _safe_json_field(body, "WorkGroup") or query.get("WorkGroup")\n'),
    ("ministack.core.iam_evaluator", "services call each other over TLS",
     '"ministack_request_origin", default=("127.0.0.1", False))',
     '"ministack_request_origin", default=("127.0.0.1", True))'),
    ("ministack.app", "one server, on 127.0.0.1 and a free port",
     'if port != "443" and _port_is_bindable(bind_host, 443):', "if False:"),
    (LAMBDA, "a handler may be in index.cjs",
     'const mjsPath = fullPath + ".mjs";',
     'const mjsPath = fullPath + (fs.existsSync(fullPath + ".cjs") ? ".cjs" : ".mjs");'),
    (LAMBDA, "a function has a /tmp of its own; redirect.ts leads it to the platform",
     "            [binary, worker_path],\n            cwd=code_dir,",
     '            ["env", f"TMPDIR={self._tmpdir}", os.environ["REHEARSAL_NODE"], "--import",\n'
     '             os.environ["REHEARSAL_REDIRECT"], worker_path],\n            cwd=code_dir,'),
    # Retry and Catch go by the name of an error.
    (LAMBDA, "a rejected promise has the error's name",
     'trace: err.stack || ""\n', 'trace: err.stack || "", name: err.name\n'),
    (LAMBDA, "a thrown error has its name",
     "error: e.message, trace: e.stack\n      }", "error: e.message, trace: e.stack, name: e.name\n      }"),
    ("ministack.services.lambda_svc", "the error's name is the errorType",
     'error_type = "Runtime.HandlerError"\n            if _RIE',
     'error_type = result.get("name") or "Runtime.HandlerError"\n            if _RIE'),
    (FORMATION, "a secret's Ref is its ARN, and without a value it has no version",
     '        _sm_secret_replicate(name, props["ReplicaRegions"])\n    return name, {"Id": arn',
     '        _sm_secret_replicate(name, props["ReplicaRegions"])\n'
     '    if not {"SecretString", "GenerateSecretString"} & set(props):\n'
     '        _sm._secrets[name]["Versions"] = {}\n'
     '    return name, {"Ref": arn, "Id": arn'),
    ("ministack.services.cloudformation.engine", "the Ref of a resource need not be its physical id",
     '            return param["Value"]\n        # Resource physical ID\n',
     '            return param["Value"]\n'
     '        if "Ref" in resources.get(ref, {}).get("Attributes", {}):\n'
     '            return resources[ref]["Attributes"]["Ref"]\n'),
    (FORMATION, "an alarm may compute its metric (ministack stores alarms and evaluates none)",
     '    if props.get("Metrics"):\n        raise ValueError(',
     '    if props.get("Metrics"):\n'
     '        props = {"MetricName": "computed", "Namespace": "computed", **props}\n'
     '    if False:\n        raise ValueError('),
    (FORMATION, "AWS::Athena::NamedQuery exists",
     '    "AWS::Athena::WorkGroup": {\n',
     '    "AWS::Athena::NamedQuery": {\n'
     '        "create": lambda _, props, __: (\n'
     '            json.loads(_athena._create_named_query(props)[2])["NamedQueryId"], {}),\n'
     '        "delete": lambda made, props: _athena._delete_named_query({"NamedQueryId": made}),\n'
     '    },\n    "AWS::Athena::WorkGroup": {\n'),
    (S3, "PutObject answers with the checksum that it verified",
     "    resp_headers.update(sse_headers)\n    _maybe_replicate(",
     '    resp_headers.update({f"x-amz-checksum-{k.lower()}": v for k, v in checksums.items()})\n'
     "    resp_headers.update(sse_headers)\n    _maybe_replicate("),
    (S3, "an upload in parts may have a checksum of the whole object (FULL_OBJECT): create",
     '        "checksum_algorithm": checksum_algorithm,\n        "created": now_iso(),',
     '        "checksum_algorithm": checksum_algorithm,\n'
     '        "checksum_type": (headers.get("x-amz-checksum-type") or "COMPOSITE").upper(),\n'
     '        "created": now_iso(),'),
    (S3, "FULL_OBJECT: complete", "    composite = _composite_checksum(checksum_algorithm, part_digests)\n",
     "    composite = _composite_checksum(checksum_algorithm, part_digests)\n"
     '    of_whole = upload.get("checksum_type") == "FULL_OBJECT"\n'
     "    if of_whole and checksum_algorithm:\n"
     '        composite = _compute_s3_checksum(checksum_algorithm, b"".join(combined_parts))\n'),
    ("ministack.services.scheduler", "an input may name the scheduled time",
     "_eb._invoke_target(target, event, sched)",
     '_eb._invoke_target({**target, "Input": (target.get("Input") or "").replace(\n'
     '    "<aws.scheduler.scheduled-time>", now_dt.strftime("%Y-%m-%dT%H:%M:00Z"))}, event, sched)'),
    (SNS, "a message goes to the URL of a function, which is here",
     "    with urllib.request.urlopen(req, timeout=5) as resp:\n        return resp.status",
     "    import http.client, ssl\n"
     "    to = urllib.parse.urlsplit(endpoint)\n"
     "    context = ssl._create_unverified_context()\n"
     '    gateway = http.client.HTTPSConnection("127.0.0.1", int(_PORT), timeout=60, context=context)\n'
     '    gateway.request("POST", to.path or "/", payload.encode("utf-8"), {**headers, "Host": to.hostname})\n'
     "    return gateway.getresponse().status"),
    # The next check of `ready_by` comes after 15 minutes. No other wait is that long here.
    (STATES, "a wait of 15 minutes takes one",
     "    scaled = seconds * _SFN_WAIT_SCALE\n",
     "    scaled = seconds / 15 if seconds == 900 else seconds\n"),
    (STATES, "Lambda has metrics of every call",
     "    result = lambda_svc._execute_function_with_config_scope(exec_record, event)\n",
     "    began = time.time()\n"
     "    result = lambda_svc._execute_function_with_config_scope(exec_record, event)\n"
     "    lambda_svc._emit_lambda_metrics(func_name, (time.time() - began) * 1000, False, False)\n"),
    (STATES, "the name of an execution is taken",
     "    status, _, body = _start_sync_execution(request)\n",
     '    arn = f"{request.get(\'stateMachineArn\')}:{request.get(\'name\')}".replace(\n'
     '        ":stateMachine:", ":execution:")\n'
     "    if arn in _executions:\n"
     '        raise _ExecutionError("StepFunctions.ExecutionAlreadyExistsException", arn)\n'
     "    status, _, body = _start_sync_execution(request)\n"),
    (STATES, "the context has RedriveCount",
     '"StartTime": execution["startDate"],', '"StartTime": execution["startDate"], "RedriveCount": 0,'),
]

# IAM, TLS, and nothing but one server on 127.0.0.1. Athena reads the files of the tables.
os.environ |= dict(AUTH="true", USE_SSL="1", BIND_HOST="127.0.0.1", IOT_MTLS_ENABLED="0", SFTP_ENABLED="0",
                   ATHENA_ENGINE="duckdb", S3_PERSIST="1")
compile_module = importlib.machinery.SourceFileLoader.get_code


def compile_corrected(loader, fullname):
    """Compiles the corrected text of a module. Python's cache of compiled files is left alone."""
    corrections = [correction for correction in CORRECTIONS if correction[0] == fullname]
    if not corrections:
        return compile_module(loader, fullname)
    path = loader.get_filename(fullname)
    text = loader.get_data(path).decode()
    for _, why, found, correct in corrections:
        if text.count(found) != 1:
            sys.exit(f"{fullname} has the text of a correction {text.count(found)} times: {why}")
        text = text.replace(found, correct)
    return compile(text, path, "exec", dont_inherit=True)


importlib.machinery.SourceFileLoader.get_code = compile_corrected
for name in sorted({module for module, *_ in CORRECTIONS}):
    importlib.import_module(name)
sys.modules["ministack.app"].main()
