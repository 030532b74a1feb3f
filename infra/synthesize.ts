import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, AssetStaging } from 'aws-cdk-lib';
import type { Template } from 'aws-cdk-lib/assertions';
import { DISABLE_ASSET_STAGING_CONTEXT } from 'aws-cdk-lib/cx-api';
import { type Config, readContext } from './config.ts';
import { ExportStack } from './stack.ts';
import type { Definition } from './workflow-picture.ts';

type Json = ReturnType<Template['toJSON']>;

/** The stack as it would be deployed. */
export interface Synthesized {
  /** CloudFormation's template, its references unresolved. */
  readonly template: Json;
  /** The state machine's definition; where an ARN belongs, parts of it are missing. */
  readonly definition: Definition;
  /** The directory of a function's code, in which the module of its `Handler` lies. */
  codeOf(functionId: string): string;
}

/**
 * Synthesizes the stack in this process, under the same feature flags as `cdk synth`, without an account. The checks
 * against policies and against CloudFormation's schemas are left out: they take seconds, and `cdk synth` makes them.
 * The functions' code stays where it was bundled, and of the assembly only the template is kept.
 */
export function synthesize(config: Config): Synthesized {
  const outdir = mkdtempSync(join(tmpdir(), 'ad-report-export-'));
  try {
    const context = { ...readContext(), [DISABLE_ASSET_STAGING_CONTEXT]: true };
    const app = new App({ context, builtinCloudFormationValidation: false, outdir });
    const stack = new ExportStack(app, config);
    const template: Json = app.synth().getStackByName(stack.stackName).template;
    return { template, definition: definitionIn(template), codeOf: codeIn(stack, template) };
  } finally {
    rmSync(outdir, { recursive: true });
  }
}

function codeIn(stack: ExportStack, template: Json): Synthesized['codeOf'] {
  const assets = stack.node.findAll().filter((construct) => construct instanceof AssetStaging);
  const directories = new Map(assets.map(({ assetHash, sourcePath }) => [`${assetHash}.zip`, sourcePath]));
  return (functionId) => directories.get(template.Resources[functionId].Properties.Code.S3Key) ?? '';
}

function definitionIn(template: Json): Definition {
  const resources = Object.values<Json>(template.Resources);
  const machine = resources.find(({ Type }) => Type === 'AWS::StepFunctions::StateMachine');
  const parts: unknown[] = machine?.Properties.DefinitionString['Fn::Join'][1];
  return JSON.parse(parts.filter((part) => typeof part === 'string').join(''));
}
