import { RemovalPolicy } from 'aws-cdk-lib';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { CfnSecret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import { grantKey } from './encryption-key.ts';

interface AccountSecretsProps {
  /** The secrets are named `<prefix>/<account>/credential` and `<prefix>/<account>/token`. */
  readonly prefix: string;
  readonly accounts: readonly string[];
  readonly encryptionKey?: IKey | undefined;
}

/**
 * Two secrets per account: the credential, which an operator stores, and the token, which GetToken caches. The stack
 * creates them empty, so that no value is ever in a template, and leaves them behind when it is deleted.
 */
export class AccountSecrets extends Construct {
  private readonly credentials: CfnSecret[];
  private readonly tokens: CfnSecret[];
  private readonly key: IKey | undefined;

  constructor(scope: Construct, id: string, { prefix, accounts, encryptionKey }: AccountSecretsProps) {
    super(scope, id);
    this.key = encryptionKey;
    const create = (name: string, description: string) => this.secret(`${prefix}/${name}`, name, description);
    this.credentials = accounts.map((account) =>
      create(`${account}/credential`, 'Requests the tokens of the account; stored by an operator'),
    );
    this.tokens = accounts.map((account) =>
      create(`${account}/token`, 'The current token of the account; written by GetToken'),
    );
  }

  /** To read credentials, and to replace a used refresh token by the new one if nobody has changed it meanwhile. */
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

  /** The L2 construct would generate a value. */
  private secret(name: string, id: string, description: string): CfnSecret {
    const kmsKeyId = this.key && { kmsKeyId: this.key.keyArn };
    const secret = new CfnSecret(this, id, { name, description, ...kmsKeyId });
    secret.applyRemovalPolicy(RemovalPolicy.RETAIN);
    return secret;
  }
}

// Narrower than the L2 construct's grants, which include DescribeSecret and UpdateSecret.
function grant(grantee: IGrantable, actions: readonly string[], secrets: readonly CfnSecret[]): void {
  Grant.addToPrincipal({
    grantee,
    actions: actions.map((action) => `secretsmanager:${action}`),
    resourceArns: secrets.map(({ ref }) => ref),
  });
}
