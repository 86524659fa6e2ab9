// A Gazebo 11 model plugin that drives one joint over ROS 1, in lock-step: the world stands still until a torque
// arrives, moves on by `substeps` steps under it, and the new state is published. So a run depends on the torques
// alone, however long the controller thinks.
//
//   state_topic    sensor_msgs/JointState          the joint; `effort` is the torque that led here; latched
//   command_topic  std_msgs/Float64                a torque, clamped to max_torque: moves the world on
//   place_topic    std_msgs/Float64MultiArray      [angle, speed]: puts the joint there and publishes that state
//   reset_service  std_srvs/Trigger                puts the joint at start_angle, at rest

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <gazebo/gazebo.hh>
#include <gazebo/physics/physics.hh>
#include <ros/callback_queue.h>
#include <ros/ros.h>
#include <sensor_msgs/JointState.h>
#include <std_msgs/Float64.h>
#include <std_msgs/Float64MultiArray.h>
#include <std_srvs/Trigger.h>

namespace gazebo {

class PendulumPlugin : public ModelPlugin {
 public:
  ~PendulumPlugin() override {
    running_ = false;
    if (worker_.joinable()) worker_.join();
  }

  void Load(physics::ModelPtr model, sdf::ElementPtr sdf) override {
    world_ = model->GetWorld();
    joint_ = model->GetJoint(sdf->Get<std::string>("joint", "pivot").first);
    if (!joint_) {
      gzerr << "policyforest_pendulum: the model has no joint of the name given in <joint>\n";
      return;
    }
    substeps_ = sdf->Get<int>("substeps", 100).first;
    max_torque_ = sdf->Get<double>("max_torque", 15.0).first;
    start_angle_ = sdf->Get<double>("start_angle", 0.0).first;
    before_step_ = event::Events::ConnectWorldUpdateBegin(
        [this](const common::UpdateInfo &) { joint_->SetForce(0, torque_.load()); });
    world_->Physics()->SetRealTimeUpdateRate(kIdleRate);
    Connect(*sdf);
  }

 private:
  // Hz. A world that stands still still looks for work this often; without a limit it would take a whole processor.
  static constexpr double kIdleRate = 1000.0, kAsFastAsPossible = 0.0;

  static std::string Topic(const sdf::Element &sdf, const std::string &name, const std::string &otherwise) {
    // Get is not const in sdformat 9, though it changes nothing.
    return const_cast<sdf::Element &>(sdf).Get<std::string>(name, otherwise).first;
  }

  void Connect(const sdf::Element &sdf) {
    if (!ros::isInitialized()) {
      int argc = 0;
      ros::init(argc, nullptr, "gazebo", ros::init_options::NoSigintHandler);
    }
    node_ = std::make_unique<ros::NodeHandle>();
    node_->setCallbackQueue(&queue_);
    const auto no_delay = ros::TransportHints().tcpNoDelay();
    states_ = node_->advertise<sensor_msgs::JointState>(Topic(sdf, "state_topic", "/pendulum/joint_states"), 10, true);
    commands_ = node_->subscribe(Topic(sdf, "command_topic", "/pendulum/pivot_controller/command"), 10,
                                 &PendulumPlugin::OnTorque, this, no_delay);
    places_ = node_->subscribe(Topic(sdf, "place_topic", "/pendulum/place"), 10, &PendulumPlugin::OnPlace, this,
                               no_delay);
    resets_ = node_->advertiseService(Topic(sdf, "reset_service", "/pendulum/reset"), &PendulumPlugin::OnReset, this);
    Place(start_angle_, 0.0);
    worker_ = std::thread([this] {
      while (running_ && ros::ok()) queue_.callAvailable(ros::WallDuration(0.1));
    });
  }

  void OnTorque(const std_msgs::Float64 &message) {
    if (!std::isfinite(message.data)) {
      ROS_WARN("policyforest_pendulum: a torque that is not finite was ignored");
      return;
    }
    torque_ = std::clamp(message.data, -max_torque_, max_torque_);
    world_->Physics()->SetRealTimeUpdateRate(kAsFastAsPossible);
    world_->Step(static_cast<unsigned int>(substeps_));
    world_->Physics()->SetRealTimeUpdateRate(kIdleRate);
    Publish();
  }

  void OnPlace(const std_msgs::Float64MultiArray &message) {
    if (message.data.size() != 2 || !std::isfinite(message.data[0]) || !std::isfinite(message.data[1])) {
      ROS_WARN("policyforest_pendulum: a place that is not [angle, speed] was ignored");
      return;
    }
    Place(message.data[0], message.data[1]);
  }

  bool OnReset(std_srvs::Trigger::Request &, std_srvs::Trigger::Response &response) {
    Place(start_angle_, 0.0);
    response.success = true;
    response.message = "at its start";
    return true;
  }

  void Place(double angle, double speed) {
    {
      // Resetting the joint also clears the forces that the engine has kept.
      std::lock_guard<boost::recursive_mutex> held(*world_->Physics()->GetPhysicsUpdateMutex());
      torque_ = 0.0;
      joint_->Reset();
      joint_->SetPosition(0, angle);
      joint_->SetVelocity(0, speed);
    }
    Publish();
  }

  void Publish() {
    sensor_msgs::JointState state;
    const auto time = world_->SimTime();
    state.header.stamp = ros::Time(time.sec, time.nsec);
    state.name = {joint_->GetName()};
    state.position = {joint_->Position(0)};
    state.velocity = {joint_->GetVelocity(0)};
    state.effort = {torque_.load()};
    states_.publish(state);
  }

  physics::WorldPtr world_;
  physics::JointPtr joint_;
  event::ConnectionPtr before_step_;
  int substeps_ = 100;
  double max_torque_ = 15.0;
  double start_angle_ = 0.0;
  std::atomic<double> torque_{0.0};
  std::atomic<bool> running_{true};
  std::unique_ptr<ros::NodeHandle> node_;
  ros::CallbackQueue queue_;
  ros::Publisher states_;
  ros::Subscriber commands_, places_;
  ros::ServiceServer resets_;
  std::thread worker_;
};

GZ_REGISTER_MODEL_PLUGIN(PendulumPlugin)

}  // namespace gazebo
