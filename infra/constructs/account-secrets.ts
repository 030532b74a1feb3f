import { RemovalPolicy } from 'aws-cdk-lib';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { CfnSecret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import { grantKey } from './encryption-key.ts';

interface AccountSecretsProps {
  /** The secrets are called `<prefix>/<account>/credential` and `<prefix>/<account>/token`. */
  readonly prefix: string;
  readonly accounts: readonly string[];
  readonly encryptionKey?: IKey | undefined;
}

/**
 * Two secrets per account: the credential, which an operator stores, and the token, which GetToken caches. Both are
 * created empty, so that no value ever stands in a template, and outlive the stack.
 */
export class AccountSecrets extends Construct {
  private readonly credentials: CfnSecret[];
  private readonly tokens: CfnSecret[];
  private readonly key: IKey | undefined;

  constructor(scope: Construct, id: string, { prefix, accounts, encryptionKey }: AccountSecretsProps) {
    super(scope, id);
    this.key = encryptionKey;
    this.credentials = accounts.map((account) =>
      this.secret(
        prefix,
        `${account}/credential`,
        'What its tokens are requested with; stored by an operator',
      ),
    );
    this.tokens = accounts.map((account) =>
      this.secret(prefix, `${account}/token`, 'The token in use; written by GetToken'),
    );
  }

  /** To read them, and to put a rotated refresh token in the place of the one that was used, if it still is there. */
  grantReadWriteCredentials(grantee: IGrantable): void {
    grant(grantee, ['GetSecretValue', 'PutSecretValue', 'UpdateSecretVersionStage'], this.credentials);
    grantKey(grantee, this.key, 'secretsmanager', ['kms:Decrypt', 'kms:GenerateDataKey']);
  }

  grantReadTokens(grantee: IGrantable): void {
    grant(grantee, ['GetSecretValue'], this.tokens);
    grantKey(grantee, this.key, 'secretsmanager', ['kms:Decrypt']);
  }

  grantReadWriteTokens(grantee: IGrantable): void {
    grant(grantee, ['GetSecretValue', 'PutSecretValue'], this.tokens);
    grantKey(grantee, this.key, 'secretsmanager', ['kms:Decrypt', 'kms:GenerateDataKey']);
  }

  /** The L2 construct would generate a value; without one the secret is empty until it is first written. */
  private secret(prefix: string, name: string, description: string): CfnSecret {
    const secret = new CfnSecret(this, name, {
      name: `${prefix}/${name}`,
      description,
      ...(this.key && { kmsKeyId: this.key.keyArn }),
    });
    secret.applyRemovalPolicy(RemovalPolicy.RETAIN);
    return secret;
  }
}

// Narrower than a secret's own grants, which include DescribeSecret and UpdateSecret.
function grant(grantee: IGrantable, actions: readonly string[], secrets: readonly CfnSecret[]): void {
  Grant.addToPrincipal({
    grantee,
    actions: actions.map((action) => `secretsmanager:${action}`),
    resourceArns: secrets.map(({ ref }) => ref),
  });
}
