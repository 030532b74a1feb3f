import { ArnFormat, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { CfnSecret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import { grantKey } from './encryption-key.ts';

interface AccountSecretsProps {
  readonly stack: string;
  readonly accounts: readonly string[];
  readonly encryptionKey?: IKey | undefined;
}

/**
 * Two secrets per account: `<stack>/<account>/credential`, which an operator stores, and
 * `<stack>/<account>/token`, which GetToken caches. The stack creates them empty, so that no value is ever in
 * a template. The token goes with its account or the stack, and the credential stays.
 */
export class AccountSecrets extends Construct {
  private readonly key: IKey | undefined;
  private readonly stack: string;

  constructor(scope: Construct, id: string, { stack, accounts, encryptionKey }: AccountSecretsProps) {
    super(scope, id);
    this.stack = stack;
    this.key = encryptionKey;
    for (const account of accounts) {
      this.secret(
        `${account}/credential`,
        'Requests the tokens of the account; stored by an operator',
        // A creation that is rolled back deletes the secret. If it stayed, the next deployment would fail
        // because the name is taken.
        RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
      );
      this.secret(
        `${account}/token`,
        'The current token of the account; written by GetToken',
        // CloudFormation deletes it without a recovery window, so the name is free at once.
        RemovalPolicy.DESTROY,
      );
    }
  }

  /** To replace tokens, and a used refresh token. */
  grantReplaceTokens(grantee: IGrantable): void {
    this.grantStoreCredentials(grantee);
    this.grant(grantee, ['GetSecretValue', 'PutSecretValue'], 'token');
  }

  /** To replace a credential. */
  grantStoreCredentials(grantee: IGrantable): void {
    this.grant(grantee, ['GetSecretValue', 'PutSecretValue'], 'credential');
    grantKey(grantee, this.key, 'secretsmanager', ['kms:Decrypt', 'kms:GenerateDataKey']);
  }

  grantReadTokens(grantee: IGrantable): void {
    this.grant(grantee, ['GetSecretValue'], 'token');
    grantKey(grantee, this.key, 'secretsmanager', ['kms:Decrypt']);
  }

  /** The L2 construct would generate a value. */
  private secret(name: string, description: string, removal: RemovalPolicy): void {
    const kmsKeyId = this.key && { kmsKeyId: this.key.keyArn };
    const secret = new CfnSecret(this, name, { name: `${this.stack}/${name}`, description, ...kmsKeyId });
    secret.applyRemovalPolicy(removal);
  }

  /**
   * Grants the secrets of all accounts by one pattern, because a list of ARNs outgrows a role's policies at
   * about 40 accounts. Secrets Manager ends each ARN with a hyphen and six random characters. Narrower than
   * the L2 construct's grants, which include DescribeSecret and UpdateSecret.
   */
  private grant(grantee: IGrantable, actions: readonly string[], secret: 'credential' | 'token'): void {
    const arn = Stack.of(this).formatArn({
      service: 'secretsmanager',
      resource: 'secret',
      resourceName: `${this.stack}/*/${secret}-??????`,
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
    Grant.addToPrincipal({
      grantee,
      actions: actions.map((action) => `secretsmanager:${action}`),
      resourceArns: [arn],
    });
  }
}
