import { RemovalPolicy } from 'aws-cdk-lib';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { CfnSecret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';

interface AccountSecretsProps {
  /** The secrets are called `<prefix>/<account>/credential` and `<prefix>/<account>/token`. */
  readonly prefix: string;
  readonly accounts: readonly string[];
}

/**
 * Two secrets per account: the credential, which an operator stores, and the token, which GetToken caches. Both are
 * created empty, so that no value ever stands in a template, and outlive the stack.
 */
export class AccountSecrets extends Construct {
  private readonly credentials: CfnSecret[];
  private readonly tokens: CfnSecret[];

  constructor(scope: Construct, id: string, { prefix, accounts }: AccountSecretsProps) {
    super(scope, id);
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
  grantReadWriteCredentials(grantee: IGrantable): Grant {
    const actions = ['GetSecretValue', 'PutSecretValue', 'UpdateSecretVersionStage'];
    return grant(
      grantee,
      actions.map((action) => `secretsmanager:${action}`),
      this.credentials,
    );
  }

  grantReadTokens(grantee: IGrantable): Grant {
    return grant(grantee, ['secretsmanager:GetSecretValue'], this.tokens);
  }

  grantReadWriteTokens(grantee: IGrantable): Grant {
    return grant(grantee, ['secretsmanager:GetSecretValue', 'secretsmanager:PutSecretValue'], this.tokens);
  }

  /** The L2 construct would generate a value; without one the secret is empty until it is first written. */
  private secret(prefix: string, name: string, description: string): CfnSecret {
    const secret = new CfnSecret(this, name, { name: `${prefix}/${name}`, description });
    secret.applyRemovalPolicy(RemovalPolicy.RETAIN);
    return secret;
  }
}

// Narrower than a secret's own grants, which include DescribeSecret and UpdateSecret.
function grant(grantee: IGrantable, actions: string[], secrets: readonly CfnSecret[]): Grant {
  return Grant.addToPrincipal({ grantee, actions, resourceArns: secrets.map(({ ref }) => ref) });
}
