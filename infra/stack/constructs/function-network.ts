import { type IVpc, Peer, Port, SecurityGroup, type SubnetSelection } from 'aws-cdk-lib/aws-ec2';
import { PolicyStatement, type Role } from 'aws-cdk-lib/aws-iam';
import type { FunctionProps } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import type { Config } from '../config/config.ts';
import { SANDBOX } from '../config/sandbox-config.ts';

/** The VPC of the caller, if there is one. */
export interface CallersNetwork {
  readonly vpc: IVpc | undefined;
  /** Default: the private subnets of the VPC. */
  readonly vpcSubnets: SubnetSelection | undefined;
}

/** The settings of each function. Empty if the functions run in no VPC. */
export type FunctionNetwork = Pick<FunctionProps, 'vpc' | 'vpcSubnets' | 'securityGroups'>;

/** Creates the security group of functions that run in a VPC. */
export function createNetwork(
  scope: Construct,
  config: Config,
  { vpc, vpcSubnets }: CallersNetwork,
): FunctionNetwork {
  if (!vpc) return {};
  const description = `The functions of ${config.stack}`;
  const group = new SecurityGroup(scope, 'SecurityGroup', { vpc, description, allowAllOutbound: false });
  for (const port of portsOf(config))
    for (const peer of [Peer.anyIpv4(), Peer.anyIpv6()]) group.addEgressRule(peer, Port.tcp(port));
  return { vpc, ...(vpcSubnets && { vpcSubnets }), securityGroups: [group] };
}

const HTTPS_PORT = 443;

/** The ports that functions call: of https, and of the platform. */
function portsOf({ base_url }: Config): number[] {
  const port = base_url === SANDBOX ? '' : new URL(base_url).port;
  return [...new Set([HTTPS_PORT, Number(port || HTTPS_PORT)])];
}

/** With these permissions of their roles, Lambda makes and removes the network interfaces of functions. */
const OF_INTERFACES = [
  ...['Create', 'Delete'].map((verb) => `ec2:${verb}NetworkInterface`),
  ...['ec2:DescribeNetworkInterfaces', 'ec2:DescribeSubnets'],
  ...['ec2:AssignPrivateIpAddresses', 'ec2:UnassignPrivateIpAddresses'],
];

/** Without the managed policy for them. AWS does not say how to limit them to a VPC. */
export function allowInterfaces(role: Role, { vpc }: FunctionNetwork): void {
  if (vpc) role.addToPolicy(new PolicyStatement({ actions: OF_INTERFACES, resources: ['*'] }));
}
