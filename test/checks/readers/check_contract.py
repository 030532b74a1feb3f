"""Validates a data contract by the JSON Schema of its standard, with jsonschema, which knows all keywords of it. With --test, also runs the
checks of the standard's CLI on the tables, and prints as JSON which of them passed, by kind."""

import json
import sys
from importlib.resources import files

import yaml
from datacontract.data_contract import DataContract
from jsonschema import Draft201909Validator

contract = yaml.safe_load(open(sys.argv[1]))
version = contract["apiVersion"].removeprefix("v")
schema = json.loads(files("datacontract").joinpath(f"schemas/odcs-{version}.schema.json").read_text())
Draft201909Validator(schema).validate(contract)
if "--test" in sys.argv:
    print(json.dumps([[each.type, each.result.value] for each in DataContract(data_contract_file=sys.argv[1]).test().checks]))
