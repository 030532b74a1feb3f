import { ArnFormat, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { CfnSecret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import type { Config } from '../config/config.ts';
import { SANDBOX } from '../config/sandbox-config.ts';
import { grantKey } from './encryption-key.ts';

/**
 * Two secrets per account: `<stack>/<account>/credential`, which an operator stores, and
 * `<stack>/<account>/token`, which GetToken caches. The stack creates them empty, so that no value is ever in
 * a template. The token goes with its account or the stack, and the credential stays. The sandbox has the
 * credential of its own account.
 */
export class AccountSecrets extends Construct {
  private readonly stack: string;
  private readonly key: IKey | undefined;

  constructor(scope: Construct, id: string, { stack, accounts, base_url }: Config, encryptionKey?: IKey) {
    super(scope, id);
    this.stack = stack;
    this.key = encryptionKey;
    for (const account of Object.keys(accounts)) {
      if (base_url !== SANDBOX)
        this.secret(`${account}/credential`, 'Requests the tokens of the account; stored by an operator')
          // A creation that is rolled back deletes the secret. If it stayed, the next deployment would fail
          // because the name is taken.
          .applyRemovalPolicy(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE);
      this.secret(`${account}/token`, 'The current token of the account; written by GetToken')
        // CloudFormation deletes it without a recovery window, so the name is free at once.
        .applyRemovalPolicy(RemovalPolicy.DESTROY);
    }
  }

  /** To replace tokens, and a used refresh token. */
  grantReplaceTokens(grantee: IGrantable): void {
    this.grantStoreCredentials(grantee);
    this.grant(grantee, 'token', ['GetSecretValue', 'PutSecretValue']);
  }

  /** To replace a credential. */
  grantStoreCredentials(grantee: IGrantable): void {
    this.grant(grantee, 'credential', ['GetSecretValue', 'PutSecretValue']);
    grantKey(grantee, this.key, 'secretsmanager', ['kms:Decrypt', 'kms:GenerateDataKey']);
  }

  grantReadTokens(grantee: IGrantable): void {
    this.grant(grantee, 'token', ['GetSecretValue']);
    grantKey(grantee, this.key, 'secretsmanager', ['kms:Decrypt']);
  }

  /** The L2 construct would generate a value. */
  private secret(name: string, description: string): CfnSecret {
    const kmsKeyId = this.key && { kmsKeyId: this.key.keyArn };
    return new CfnSecret(this, name, { name: `${this.stack}/${name}`, description, ...kmsKeyId });
  }

  /**
   * Grants the secrets of all accounts by one pattern, because a list of ARNs outgrows a role's policies at
   * about 40 accounts. Secrets Manager ends each ARN with a hyphen and six random characters. Narrower than
   * the L2 construct's grants, which include DescribeSecret and UpdateSecret.
   */
  private grant(grantee: IGrantable, secret: 'credential' | 'token', names: readonly string[]): void {
    const arn = Stack.of(this).formatArn({
      service: 'secretsmanager',
      resource: 'secret',
      resourceName: `${this.stack}/*/${secret}-??????`,
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
    const actions = names.map((name) => `secretsmanager:${name}`);
    Grant.addToPrincipal({ grantee, actions, resourceArns: [arn] });
  }
}
